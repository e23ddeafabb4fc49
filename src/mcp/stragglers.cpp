#include "mcp/stragglers.hpp"

#include "base/assert.hpp"
#include "base/log.hpp"
#include "coro/stop.hpp"
#include "mcp/request.hpp"

namespace pillion::mcp {

namespace {

const void* handler_of(const request& r) noexcept {
    if (r.tool != nullptr) {
        return r.tool->definition;
    }
    if (r.prompt != nullptr) {
        return r.prompt->definition;
    }
    if (r.resource != nullptr) {
        return r.resource->definition;
    }
    return r.provider;
}

}  // namespace

void stragglers::add(request& r) noexcept {
    PILLION_ASSERT(!r.straggling);
    r.straggling = true;
    ++now_;
    ++total_;
    const std::size_t alike = ++by_handler_[handler_of(r)];
    log::warn("mcp.straggler", {log::kv("method", r.method), log::kv("target", r.target),
                                log::kv("request_id", r.request_id),
                                log::kv("stopped", coro::to_string(r.stop.reason())),
                                log::kv("of_this_handler", alike), log::kv("of_all", now_)});
}

void stragglers::remove(request& r) noexcept {
    PILLION_ASSERT(r.straggling && now_ > 0);
    r.straggling = false;
    --now_;
    const auto at = by_handler_.find(handler_of(r));
    if (--at->second == 0) {
        by_handler_.erase(at);
    }
}

std::size_t stragglers::of(const request& r) const noexcept {
    const auto at = by_handler_.find(handler_of(r));
    return at == by_handler_.end() ? 0 : at->second;
}

}  // namespace pillion::mcp
