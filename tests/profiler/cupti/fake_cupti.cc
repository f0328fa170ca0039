#include "tests/profiler/cupti/fake_cupti.h"

#include <algorithm>
#include <utility>

namespace hocket {

int FakeCupti::fails() const {
  if (is_gone_) ++calls_while_gone_;
  return calls_++ == fails_at ? CUPTI_ERROR_UNKNOWN : CUPTI_SUCCESS;
}

void FakeCupti::complete() {
  if (current_.empty()) return;
  owner_->complete(current_.data(), used_);
  current_ = {};
  owner_.reset();
  used_ = 0;
}

bool FakeCupti::is_left_out(const RecordBytes& record) const {
  const std::uint32_t kind = kind_of(record);
  if (kind != CUPTI_ACTIVITY_KIND_RUNTIME && kind != CUPTI_ACTIVITY_KIND_DRIVER) return false;
  CUpti_ActivityAPI call;
  if (record.size() < sizeof call) return false;
  std::memcpy(&call, record.data(), sizeof call);
  return left_out_.contains({kind, std::uint32_t{call.cbid}});
}

void FakeCupti::write(const RecordBytes& record) {
  if (!enabled_.contains(kind_of(record)) || is_left_out(record)) return;
  if (!current_.empty() && used_ + record.size() > current_.size()) complete();
  if (current_.empty()) {
    owner_ = buffers_;
    current_ = owner_ ? owner_->request() : std::span<std::uint8_t>();
  }
  if (current_.size() < record.size()) {
    ++dropped_;
    ++dropped_in_all_;
    return;
  }
  std::ranges::copy(record, current_.begin() + static_cast<std::ptrdiff_t>(used_));
  used_ += record.size();
  ++recorded_;
}

void FakeCupti::record(const RecordBytes& record) {
  std::lock_guard lock(mutex_);
  write(record);
}

std::uint32_t FakeCupti::launch(const char* kernel, std::uint32_t stream, std::int64_t call_ns,
                                std::int64_t begin_ns, std::int64_t end_ns) {
  std::lock_guard lock(mutex_);
  const std::uint32_t correlation = next_correlation_++;
  const auto at = [&](std::int64_t from_ns, std::int64_t to_ns) {
    return Launched{static_cast<std::uint64_t>(from_ns + ahead_ns),
                    static_cast<std::uint64_t>(to_ns + ahead_ns), stream, correlation};
  };
  const auto marks = marks_.find(std::this_thread::get_id());
  if (marks != marks_.end() && !marks->second.empty()) {
    write(correlation_record(correlation, marks->second.back()));
  }
  write(call_record(CUPTI_ACTIVITY_KIND_RUNTIME, 211, 5, at(call_ns, call_ns + 1)));
  write(kernel_record(kernel, at(begin_ns, end_ns)));
  return correlation;
}

void FakeCupti::complete_buffer() {
  std::lock_guard lock(mutex_);
  complete();
}

std::set<std::uint32_t> FakeCupti::enabled() const {
  std::lock_guard lock(mutex_);
  return enabled_;
}

bool FakeCupti::is_subscribed() const {
  std::lock_guard lock(mutex_);
  return is_subscribed_;
}

std::int64_t FakeCupti::recorded() const {
  std::lock_guard lock(mutex_);
  return recorded_;
}

std::int64_t FakeCupti::dropped_in_all() const {
  std::lock_guard lock(mutex_);
  return dropped_in_all_;
}

std::int64_t FakeCupti::fallible_calls() const {
  std::lock_guard lock(mutex_);
  return calls_;
}

std::int64_t FakeCupti::flushes(bool forced) const {
  std::lock_guard lock(mutex_);
  const auto found = flushes_.find(forced);
  return found == flushes_.end() ? 0 : found->second;
}

std::int64_t FakeCupti::detached() const {
  std::lock_guard lock(mutex_);
  return detached_;
}

std::int64_t FakeCupti::calls_while_gone() const {
  std::lock_guard lock(mutex_);
  return calls_while_gone_;
}

std::size_t FakeCupti::open_marks() const {
  std::lock_guard lock(mutex_);
  std::size_t open = 0;
  for (const auto& [thread, marks] : marks_) open += marks.size();
  return open;
}

bool FakeCupti::records_vain_queries() const {
  std::lock_guard lock(mutex_);
  return records_vain_queries_;
}

bool FakeCupti::shares_buffers() const {
  std::lock_guard lock(mutex_);
  return shares_buffers_;
}

std::string FakeCupti::status_name(int status) const {
  return status == CUPTI_ERROR_UNKNOWN ? "CUPTI_ERROR_UNKNOWN 999"
                                       : "status " + std::to_string(status);
}

int FakeCupti::subscribe(std::string& holder) {
  std::lock_guard lock(mutex_);
  is_gone_ = false;
  if (const int status = fails(); status != 0) return status;
  if (!other_subscriber.empty()) {
    holder = other_subscriber;
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  }
  if (is_subscribed_) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  is_subscribed_ = true;
  return CUPTI_SUCCESS;
}

int FakeCupti::unsubscribe() {
  std::lock_guard lock(mutex_);
  is_subscribed_ = false;
  return CUPTI_SUCCESS;
}

int FakeCupti::detach() {
  std::lock_guard lock(mutex_);
  // CUPTI forgets everything, and does not give back the buffer that it holds.
  is_subscribed_ = false;
  is_gone_ = true;
  ++detached_;
  enabled_.clear();
  left_out_.clear();
  records_vain_queries_ = true;
  former_.push_back(std::exchange(buffers_, nullptr));
  current_ = {};
  return CUPTI_SUCCESS;
}

int FakeCupti::register_buffers(std::shared_ptr<ActivityBuffers> buffers) {
  std::lock_guard lock(mutex_);
  if (const int status = fails(); status != 0) return status;
  former_.push_back(std::exchange(buffers_, std::move(buffers)));
  return CUPTI_SUCCESS;
}

int FakeCupti::promise_zeroed_buffers() {
  std::lock_guard lock(mutex_);
  return fails();
}

int FakeCupti::share_buffers() {
  std::lock_guard lock(mutex_);
  if (const int status = fails(); status != 0) return status;
  shares_buffers_ = !buffers_;
  return CUPTI_SUCCESS;
}

int FakeCupti::enable(std::uint32_t kind) {
  std::lock_guard lock(mutex_);
  if (const int status = fails(); status != 0) return status;
  if (refused_kinds.contains(kind)) return CUPTI_ERROR_NOT_SUPPORTED;
  enabled_.insert(kind);
  std::erase_if(left_out_, [&](const auto& call) { return call.first == kind; });
  return CUPTI_SUCCESS;
}

int FakeCupti::disable(std::uint32_t kind) {
  std::lock_guard lock(mutex_);
  if (is_gone_) ++calls_while_gone_;
  enabled_.erase(kind);
  return CUPTI_SUCCESS;
}

int FakeCupti::leave_out(ApiDomain domain, std::uint32_t id) {
  std::lock_guard lock(mutex_);
  left_out_.insert(
      {domain == ApiDomain::runtime ? CUPTI_ACTIVITY_KIND_RUNTIME : CUPTI_ACTIVITY_KIND_DRIVER,
       id});
  return CUPTI_SUCCESS;
}

int FakeCupti::leave_out_vain_queries() {
  std::lock_guard lock(mutex_);
  records_vain_queries_ = false;
  return CUPTI_SUCCESS;
}

int FakeCupti::flush(bool forced) {
  std::lock_guard lock(mutex_);
  ++flushes_[forced];
  if (const int status = fails(); status != 0) return status;
  if (!keeps_on_flush) complete();
  return CUPTI_SUCCESS;
}

int FakeCupti::take_dropped(std::size_t& records) {
  std::lock_guard lock(mutex_);
  if (const int status = fails(); status != 0) return status;
  records = std::exchange(dropped_, 0);
  return CUPTI_SUCCESS;
}

int FakeCupti::timestamp(std::uint64_t& ns) const {
  std::lock_guard lock(mutex_);
  if (const int status = fails(); status != 0) return status;
  ns = static_cast<std::uint64_t>(clock_.now_ns() + ahead_ns);
  return CUPTI_SUCCESS;
}

int FakeCupti::push_task(std::uint64_t id) {
  std::lock_guard lock(mutex_);
  if (const int status = fails(); status != 0) return status;
  marks_[std::this_thread::get_id()].push_back(id);
  return CUPTI_SUCCESS;
}

int FakeCupti::pop_task() {
  std::lock_guard lock(mutex_);
  auto& marks = marks_[std::this_thread::get_id()];
  if (marks.empty()) return CUPTI_ERROR_QUEUE_EMPTY;
  marks.pop_back();
  return CUPTI_SUCCESS;
}

int FakeCupti::next_record(std::span<const std::uint8_t> bytes, const std::uint8_t*& record) const {
  if (bytes.empty()) return CUPTI_ERROR_INVALID_PARAMETER;
  const auto kind_at = [&](std::size_t at) {
    std::uint32_t kind = 0;
    std::memcpy(&kind, bytes.data() + at, std::min(sizeof kind, bytes.size() - at));
    return kind;
  };
  std::size_t at = 0;
  if (record != nullptr) {
    at = static_cast<std::size_t>(record - bytes.data());
    at += record_length(kind_at(at)).value_or(bytes.size());
  }
  if (at + sizeof(std::uint32_t) > bytes.size()) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  const auto length = record_length(kind_at(at));
  if (!length) return CUPTI_ERROR_INVALID_KIND;
  if (at + *length > bytes.size()) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  record = bytes.data() + at;
  return CUPTI_SUCCESS;
}

std::string FakeCupti::call_name(ApiDomain domain, std::uint32_t id) const {
  if (domain == ApiDomain::driver) return "";
  return id == 211 ? "cudaLaunchKernel" : "cudaCall" + std::to_string(id);
}

}  // namespace hocket
