#pragma once

// A server on a free loopback port, with a service made of functions, on its own thread. For one
// thread, except counts().

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/server/server.h"

namespace hocket {

inline ServiceResponse text_response(std::string body, int status = 200) {
  ServiceResponse response;
  response.status = status;
  response.content_type = "text/plain";
  response.body = std::make_shared<const std::string>(std::move(body));
  return response;
}

class FunctionService final : public Service {
 public:
  std::function<std::optional<ServiceResponse>(const ServiceRequest&)> at_once =
      [](const ServiceRequest&) { return std::nullopt; };
  /// Echoes the request.
  std::function<ServiceReply(const ServiceRequest&, bool is_last)> later =
      [](const ServiceRequest& request, bool) {
        return text_response(request.method + " " + request.target + " " + request.body);
      };

  std::function<bool(const ServiceRequest&)> is_long = [](const ServiceRequest&) { return false; };

  std::optional<ServiceReply> answer_at_once(const ServiceRequest& request) override {
    return at_once(request);
  }
  RequestLabour labour_of(const ServiceRequest& request) const override {
    return is_long(request) ? RequestLabour::search : RequestLabour::brief;
  }
  ServiceReply handle(const ServiceRequest& request, bool is_last) override {
    return later(request, is_last);
  }
  /// Returns what notes the end of a stream called `name`.
  std::shared_ptr<const StreamHold> hold(std::string name) {
    return std::make_shared<Hold>(*this, std::move(name));
  }
  std::atomic<bool> streams_are_over = false;

  /// Blocks until `count` streams have ended.
  std::vector<std::string> closed(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_.size() >= count; });
    return closed_;
  }

 private:
  class Hold final : public StreamHold {
   public:
    Hold(FunctionService& service, std::string name) : service_(service), name_(std::move(name)) {}
    ~Hold() override {
      std::lock_guard lock(service_.mutex_);
      service_.closed_.push_back(name_);
      service_.changed_.notify_all();
    }
    bool is_over() const override { return service_.streams_are_over; }

   private:
    FunctionService& service_;
    const std::string name_;
  };

  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_:
  std::vector<std::string> closed_;
};

class RunningServer {
 public:
  explicit RunningServer(ServerOptions options = {}, const Log& log = {}) : errors(log) {
    options.port = 0;
    auto created = Server::create(std::move(options), service, feed, log, errors);
    EXPECT_TRUE(created.has_value()) << (created ? "" : created.error().message);
    server_ = std::move(*created);
  }
  ~RunningServer() { stop(); }

  /// Call after the service's functions are set.
  void start() {
    thread_ = std::thread([this] { server_->run(); });
  }
  void ask_to_stop() { server_->stop(); }
  /// Blocks until run() has returned.
  void stop() {
    server_->stop();
    if (thread_.joinable()) thread_.join();
  }

  Server& operator*() { return *server_; }
  std::uint16_t port() const { return server_->port(); }
  ServerCounts counts() const { return server_->counts(); }

  /// Waits until `holds(counts())`. Fails the test after a minute.
  void until(const std::function<bool(const ServerCounts&)>& holds) const {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!holds(counts())) {
      if (std::chrono::steady_clock::now() > limit) {
        ADD_FAILURE() << "it did not come so";
        return;
      }
      std::this_thread::yield();
    }
  }

  Feed feed;
  FunctionService service;
  const InternalErrors errors;

 private:
  std::unique_ptr<Server> server_;
  std::thread thread_;
};

}  // namespace hocket
