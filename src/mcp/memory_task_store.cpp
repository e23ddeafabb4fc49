#include "mcp/memory_task_store.hpp"

namespace pillion::mcp {

namespace {

std::size_t weight(const task_record& r) noexcept {
    std::size_t bytes = sizeof r + r.id.size() + r.owner.size() + r.session.size() + r.tool.size() +
                        r.message.size() + r.outcome.size();
    for (const task_question& one : r.questions) {
        bytes += sizeof one + one.key.size() + one.request.size();
    }
    return bytes;
}

}  // namespace

task_ref memory_task_store::insert(task_record made) {
    const std::lock_guard lock(mutex_);
    const auto share = paid_by_.find(payer(made));
    // Callers that cannot be told apart share the whole.
    const bool has_share = !payer(made).empty() && share != paid_by_.end();
    if (tasks_.size() >= caps_.tasks || bytes_ + weight(made) > caps_.bytes ||
        (has_share && share->second >= caps_.tasks_per_owner)) {
        return nullptr;
    }
    made.number = ++numbers_;
    auto kept = std::make_shared<const task_record>(std::move(made));
    ++paid_by_[payer(*kept)];
    bytes_ += weight(*kept);
    in_order_.emplace(kept->number, kept);
    tasks_.emplace(kept->id, kept);
    return kept;
}

task_ref memory_task_store::find(std::string_view id, std::int64_t now_ms) const {
    const std::lock_guard lock(mutex_);
    const auto at = tasks_.find(id);
    return at == tasks_.end() || at->second->expired(now_ms) ? nullptr : at->second;
}

task_store::change_result memory_task_store::change(std::string_view id, std::int64_t now_ms,
                                                    base::function_ref<bool(task_record&)> edit) {
    const std::lock_guard lock(mutex_);
    const auto at = tasks_.find(id);
    if (at == tasks_.end() || at->second->expired(now_ms)) {
        return {};
    }
    if (is_terminal(at->second->status)) {
        return {at->second, false};
    }
    task_record next = *at->second;
    if (!edit(next)) {
        return {at->second, false};
    }
    next.updated_ms = now_ms;
    ++next.change;
    bytes_ -= weight(*at->second);
    at->second = std::make_shared<const task_record>(std::move(next));
    bytes_ += weight(*at->second);
    in_order_[at->second->number] = at->second;
    return {at->second, true};
}

std::vector<task_ref> memory_task_store::list(std::string_view session, std::uint64_t after,
                                              std::size_t max, std::int64_t now_ms) const {
    std::vector<task_ref> out;
    const std::lock_guard lock(mutex_);
    for (auto at = in_order_.upper_bound(after); at != in_order_.end() && out.size() < max; ++at) {
        if (at->second->session == session && !at->second->expired(now_ms)) {
            out.push_back(at->second);
        }
    }
    return out;
}

void memory_task_store::forget(const task_ref& gone) {
    bytes_ -= weight(*gone);
    const auto share = paid_by_.find(payer(*gone));
    if (--share->second == 0) {
        paid_by_.erase(share);
    }
    tasks_.erase(gone->id);
}

std::size_t memory_task_store::expire(std::int64_t now_ms) {
    const std::lock_guard lock(mutex_);
    std::size_t gone = 0;
    for (auto at = in_order_.begin(); at != in_order_.end();) {
        if (at->second->expired(now_ms)) {
            forget(at->second);
            at = in_order_.erase(at);
            ++gone;
        } else {
            ++at;
        }
    }
    return gone;
}

bool memory_task_store::has_room() const {
    const std::lock_guard lock(mutex_);
    return tasks_.size() < caps_.tasks && bytes_ < caps_.bytes;
}

std::size_t memory_task_store::size() const {
    const std::lock_guard lock(mutex_);
    return tasks_.size();
}

std::size_t memory_task_store::bytes() const {
    const std::lock_guard lock(mutex_);
    return bytes_;
}

}  // namespace pillion::mcp
