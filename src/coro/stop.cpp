#include "coro/stop.hpp"

#include "base/assert.hpp"

namespace pillion::coro {

const char* to_string(stop_reason reason) noexcept {
    switch (reason) {
        case stop_reason::none:
            return "none";
        case stop_reason::client_cancelled:
            return "client_cancelled";
        case stop_reason::deadline:
            return "deadline";
        case stop_reason::disconnected:
            return "disconnected";
        case stop_reason::shutdown:
            return "shutdown";
        case stop_reason::session_ended:
            return "session_ended";
        case stop_reason::input_required:
            return "input_required";
    }
    return "unknown";
}

stop_callback::stop_callback(stop_node& node, function run, void* context) noexcept {
    attach(node, run, context);
}

void stop_callback::attach(stop_node& node, function run, void* context) noexcept {
    PILLION_ASSERT(!attached());
    if (node.requested()) {
        run(context);
        return;
    }
    run_ = run;
    context_ = context;
    node.callbacks_.push_back(*this);
}

stop_node::stop_node(stop_node* parent) noexcept {
    if (parent == nullptr) {
        return;
    }
    reason_ = parent->reason_;
    (requested() ? parent->told_ : parent->children_).push_back(*this);
}

stop_node::~stop_node() {
    PILLION_ASSERT(!walking_);
    PILLION_ASSERT(children_.empty() && told_.empty());
    PILLION_ASSERT(callbacks_.empty());
    if (linked()) {
        unlink();
    }
}

void stop_node::request(stop_reason reason) noexcept {
    PILLION_ASSERT(reason != stop_reason::none);
    if (requested()) {
        return;
    }
    reason_ = reason;
    walking_ = true;
    while (stop_node* child = children_.pop_back()) {
        told_.push_back(*child);
        child->request(reason);
    }
    while (stop_callback* callback = callbacks_.pop_back()) {
        // The callback may destroy itself, so nothing of it is read after the call starts.
        callback->run_(callback->context_);
    }
    walking_ = false;
}

}  // namespace pillion::coro
