#include "client/link/http_client_certificate.h"

#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <boost/asio/ip/address.hpp>
#include <memory>
#include <string_view>

#include "core/base/text.h"

namespace hocket {
namespace {

constexpr int kMostNames = 10;
constexpr std::size_t kMostBytes = 100;

template <class Address>
std::string address_text(std::string_view bytes) {
  typename Address::bytes_type address;
  std::ranges::copy(bytes, address.begin());
  return Address(address).to_string();
}

/// Returns a host name or an address; empty for a name of another kind.
std::string text_of(const GENERAL_NAME& name) {
  int type = 0;
  const void* const value = GENERAL_NAME_get0_value(&name, &type);
  if (type != GEN_DNS && type != GEN_IPADD) return {};
  const auto* const text = static_cast<const ASN1_STRING*>(value);
  const std::string_view bytes(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                               static_cast<std::size_t>(ASN1_STRING_length(text)));
  if (type == GEN_DNS) return printable(bytes, kMostBytes);
  if (bytes.size() == 4) return address_text<boost::asio::ip::address_v4>(bytes);
  if (bytes.size() == 16) return address_text<boost::asio::ip::address_v6>(bytes);
  return {};
}

}  // namespace

std::string certificate_names(const X509* certificate) {
  const std::unique_ptr<GENERAL_NAMES, void (*)(GENERAL_NAMES*)> names(
      static_cast<GENERAL_NAMES*>(
          X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)),
      GENERAL_NAMES_free);
  std::string list;
  for (int i = 0, shown = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const std::string name = text_of(*sk_GENERAL_NAME_value(names.get(), i));
    if (name.empty()) continue;
    if (++shown > kMostNames) return list + ", …";
    list += (list.empty() ? "" : ", ") + name;
  }
  return list;
}

}  // namespace hocket
