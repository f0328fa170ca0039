#include "profiler/cupti/cupti_library.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <utility>

#include "core/cuda/libraries/library_search.h"
#include "profiler/cupti/cupti_functions.h"
#include "profiler/cupti/probe.h"

namespace hocket {
namespace {

/// Receivers of CUPTI's callbacks; the last one serves requests. Callbacks carry no argument, so
/// there is one list per process. It is never destroyed, since CUPTI still calls at process exit.
struct RegisteredBuffers {
  std::mutex mutex;
  std::vector<std::shared_ptr<ActivityBuffers>> all;
};

RegisteredBuffers& registered_buffers() {
  static RegisteredBuffers* const registered = new RegisteredBuffers;
  return *registered;
}

void forget_unused_buffers() {
  RegisteredBuffers& registered = registered_buffers();
  std::lock_guard lock(registered.mutex);
  std::erase_if(registered.all, [](const auto& buffers) { return buffers->held() == 0; });
}

void CUPTIAPI on_buffer_requested(std::uint8_t** buffer, std::size_t* size,
                                  std::size_t* most_records) {
  std::shared_ptr<ActivityBuffers> last;
  {
    RegisteredBuffers& registered = registered_buffers();
    std::lock_guard lock(registered.mutex);
    if (!registered.all.empty()) last = registered.all.back();
  }
  const std::span<std::uint8_t> given = last ? last->request() : std::span<std::uint8_t>();
  *buffer = given.empty() ? nullptr : given.data();
  *size = given.size();
  *most_records = 0;
}

void CUPTIAPI on_buffer_completed(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                                  std::size_t valid_bytes) {
  std::vector<std::shared_ptr<ActivityBuffers>> all;
  {
    RegisteredBuffers& registered = registered_buffers();
    std::lock_guard lock(registered.mutex);
    all = registered.all;
  }
  for (auto buffers = all.rbegin(); buffers != all.rend(); ++buffers) {
    if ((*buffers)->complete(buffer, valid_bytes)) return;
  }
}

/// CUPTI's leaving of the process. One per process, as the callbacks are.
enum class Detachment { none, wanted, under_way };
std::atomic<Detachment> detachment = Detachment::none;
std::atomic<decltype(&cuptiFinalize)> finalize_cupti = nullptr;

/// Replaces `from` by `to`; returns false if it is something else.
bool change_detachment(Detachment from, Detachment to) {
  return detachment.compare_exchange_strong(from, to);
}

void CUPTIAPI on_call(void*, CUpti_CallbackDomain domain, CUpti_CallbackId, const void* data) {
  if (domain != CUPTI_CB_DOMAIN_RUNTIME_API || data == nullptr) return;
  const auto* const call = static_cast<const CUpti_CallbackData*>(data);
  if (call->callbackSite != CUPTI_API_EXIT) return;
  if (!change_detachment(Detachment::wanted, Detachment::under_way)) return;
  finalize_cupti.load()();
  detachment = Detachment::none;
}

class CuptiLibrary final : public CuptiApi {
 public:
  explicit CuptiLibrary(const CuptiFunctions& functions) : f_(functions) {}

  std::uint32_t version() const override {
    std::uint32_t version = 0;
    return f_.get_version(&version) == CUPTI_SUCCESS ? version : 0;
  }
  int driver_version() const override { return installed_driver_version(); }

  std::string status_name(int status) const override {
    const char* name = nullptr;
    const bool known =
        f_.get_result_string(static_cast<CUptiResult>(status), &name) == CUPTI_SUCCESS &&
        name != nullptr;
    return (known ? std::string(name) : std::string("status")) + " " + std::to_string(status);
  }

  int subscribe(std::string& holder) override {
    if (subscriber_ != nullptr && change_detachment(Detachment::wanted, Detachment::none))
      return f_.enable_domain(0, subscriber_, CUPTI_CB_DOMAIN_RUNTIME_API);
    while (detachment == Detachment::under_way) std::this_thread::yield();
    std::array<char, CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN * 2> name{};
    CUpti_SubscriberParams parameters{};
    parameters.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
    parameters.subscriberName = "hocket";
    parameters.oldSubscriberName = name.data();
    parameters.oldSubscriberSize = name.size();
    CUpti_SubscriberHandle subscriber = nullptr;
    const int status = f_.subscribe(&subscriber, on_call, nullptr, &parameters);
    name.back() = '\0';
    holder = name.data();
    if (status == CUPTI_SUCCESS) subscriber_ = subscriber;
    return status;
  }

  int unsubscribe() override {
    forget_unused_buffers();
    const CUpti_SubscriberHandle subscriber = std::exchange(subscriber_, nullptr);
    return subscriber == nullptr ? CUPTI_SUCCESS : f_.unsubscribe(subscriber);
  }

  int detach() override {
    forget_unused_buffers();
    if (subscriber_ == nullptr) return CUPTI_SUCCESS;
    finalize_cupti = f_.finalize;
    detachment = Detachment::wanted;
    return f_.enable_domain(1, subscriber_, CUPTI_CB_DOMAIN_RUNTIME_API);
  }

  int register_buffers(std::shared_ptr<ActivityBuffers> buffers) override {
    forget_unused_buffers();
    {
      RegisteredBuffers& registered = registered_buffers();
      std::lock_guard lock(registered.mutex);
      registered.all.push_back(std::move(buffers));
    }
    return f_.register_callbacks(on_buffer_requested, on_buffer_completed);
  }

  int promise_zeroed_buffers() override {
    return set(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, 1);
  }
  int share_buffers() override { return set(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, 0); }

  int enable(std::uint32_t kind) override {
    return f_.enable(static_cast<CUpti_ActivityKind>(kind));
  }
  int disable(std::uint32_t kind) override {
    return f_.disable(static_cast<CUpti_ActivityKind>(kind));
  }
  int leave_out(ApiDomain domain, std::uint32_t id) override {
    return (domain == ApiDomain::runtime ? f_.enable_runtime_call : f_.enable_driver_call)(id, 0);
  }
  int leave_out_vain_queries() override { return f_.enable_all_sync_records(0); }
  int flush(bool forced) override {
    return f_.flush_all(forced ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0);
  }
  int take_dropped(std::size_t& records) override { return f_.get_dropped(nullptr, 0, &records); }
  int timestamp(std::uint64_t& ns) const override { return f_.get_timestamp(&ns); }
  int push_task(std::uint64_t id) override {
    return f_.push(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, id);
  }
  int pop_task() override { return f_.pop(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, nullptr); }

  int next_record(std::span<const std::uint8_t> bytes, const std::uint8_t*& record) const override {
    // CUPTI only reads, though its signature lacks const.
    auto* const buffer = const_cast<std::uint8_t*>(bytes.data());
    auto* at = reinterpret_cast<CUpti_Activity*>(const_cast<std::uint8_t*>(record));
    const int status = f_.next_record(buffer, bytes.size(), &at);
    record = reinterpret_cast<const std::uint8_t*>(at);
    return status;
  }

  std::string call_name(ApiDomain domain, std::uint32_t id) const override {
    const char* name = nullptr;
    const auto of =
        domain == ApiDomain::runtime ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API;
    const int status = f_.get_callback_name(of, id, &name);
    return status == CUPTI_SUCCESS && name != nullptr ? name : "";
  }

 private:
  int set(CUpti_ActivityAttribute attribute, std::uint8_t value) {
    std::size_t size = sizeof value;
    return f_.set_attribute(attribute, &size, &value);
  }

  const CuptiFunctions f_;
  CUpti_SubscriberHandle subscriber_ = nullptr;
};

}  // namespace

std::vector<std::string> default_cupti_libraries() {
  return library_candidates("libcupti.so." + std::to_string(CUPTI_API_VERSION / 10'000));
}

Result<std::shared_ptr<CuptiApi>> load_cupti(std::span<const std::string> candidates) {
  std::string why = "no library was named";
  for (const std::string& candidate : candidates) {
    const auto functions = load_cupti_functions(candidate);
    if (functions) return std::make_shared<CuptiLibrary>(*functions);
    why = functions.error().message;
  }
  return failure(ErrorCode::unavailable,
                 "CUPTI: its library was not found (" + why + "); install the CUDA toolkit " +
                     std::to_string(CUPTI_API_VERSION / 10'000) +
                     " or name the folder of its libcupti in LD_LIBRARY_PATH; " + kHostLevel);
}

std::string give_nvtx_to_cupti(std::span<const std::string> candidates) {
  constexpr const char* kVariable = "NVTX_INJECTION64_PATH";
  if (const char* const named = std::getenv(kVariable); named != nullptr && *named != '\0') {
    return named;
  }
  for (const std::string& candidate : candidates) {
    const auto functions = load_cupti_functions(candidate);
    if (!functions) continue;
    std::string path = library_path(*functions);
    if (!path.empty() && setenv(kVariable, path.c_str(), 1) == 0) return path;
  }
  return "";
}

}  // namespace hocket
