// sim_tools: what the simulated server offers: one tool for each way a handler can behave. Every
// call carries a tag that its answer begins with, so that answers which went astray are seen.
//
// The stage is what the tools share with the simulation: who is inside, and whose time is over.
// Thread: one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include <pillion/server.hpp>

namespace pillion::sim {

class visit;

struct stage {
    std::function<std::int64_t()> now_ns;
    // Runs something when this time has passed.
    std::function<void(std::int64_t ms, std::function<void()>)> later;
    // Time passes while the caller holds up its loop.
    std::function<void(std::int64_t ms)> stall;
    std::multimap<std::string, visit*, std::less<>> inside;  // by tag
    std::uint64_t visits = 0;
};

// A handler that has begun and not ended.
class visit {
 public:
    visit(stage& on, context& ctx, json::view args);
    visit(const visit&) = delete;
    visit& operator=(const visit&) = delete;
    ~visit();

    // Its time stands still while the client is asked.
    void asks() { due_ns_ = INT64_MAX; }
    void asked();
    std::string_view tag() const { return at_->first; }
    context& of() const { return ctx_; }
    // When it must have been stopped; INT64_MAX: nobody's business.
    std::int64_t due_ns() const { return due_ns_; }

 private:
    stage& stage_;
    context& ctx_;
    std::int64_t due_ns_ = INT64_MAX;
    std::multimap<std::string, visit*, std::less<>>::iterator at_;
};

// Registers everything.
void furnish(server& s, stage& on);

}  // namespace pillion::sim
