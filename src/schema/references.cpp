// The compiler's rules of references, and what they may lead to.
#include <algorithm>

#include "schema/compiler.hpp"
#include "schema/uri.hpp"

namespace pillion::schema_check {

bool compiler::reference(std::string_view keyword, json::view value) {
    place target;
    std::string detail;
    std::uint32_t index = 0;
    if (!value.is_string()) {
        return fail(keyword, "must be a string");
    }
    if (!catalog_.find(here_.resource, value.str(), target, detail)) {
        return fail(keyword, detail);
    }
    if (!block_of(target, index)) {
        return false;
    }
    add(op::reference, index);
    return true;
}

// Core §8.2.3.2: only when the reference leads to a dynamic anchor at first, the dynamic scope
// counts; else it is a plain reference.
bool compiler::dynamic_reference(std::string_view keyword, json::view value) {
    place target;
    std::string detail;
    std::string name;
    dynamic_jump jump;
    if (!value.is_string()) {
        return fail(keyword, "must be a string");
    }
    if (!catalog_.find(here_.resource, value.str(), target, detail)) {
        return fail(keyword, detail);
    }
    if (!block_of(target, jump.fallback)) {
        return false;
    }
    decode_percent(fragment_of(value.str()), name);
    if (catalog_.dynamic_anchor(target.resource, name).raw() != target.schema.raw()) {
        add(op::reference, jump.fallback);
        return true;
    }
    add(op::dynamic_reference, out_.dynamics.size());
    dynamic_uses_.push_back({name, static_cast<std::uint32_t>(out_.dynamics.size())});
    out_.dynamics.push_back(jump);
    return true;
}

// Every resource that validation can be in may be where a dynamic reference leads to.
bool compiler::add_dynamic_targets(bool& added) {
    const std::size_t before = queue_.size();
    std::set<std::string> names;
    for (const dynamic_use& use : dynamic_uses_) {
        names.insert(use.name);
    }
    for (const std::uint32_t in : entered_) {
        for (const std::string& name : names) {
            std::uint32_t index = 0;
            if (!dynamic_done_[in].insert(name).second) {
                continue;
            }
            const json::view target = catalog_.dynamic_anchor(in, name);
            if (target.exists() && !block_of(place{target, in}, index)) {
                return false;
            }
        }
    }
    added = queue_.size() > before;
    return true;
}

void compiler::finish_dynamics() {
    std::map<std::string, dynamic_jump> tables;
    for (const dynamic_use& use : dynamic_uses_) {
        const auto [entry, fresh] = tables.try_emplace(use.name);
        dynamic_jump& table = entry->second;
        if (fresh) {
            table.first = static_cast<std::uint32_t>(out_.dynamic_entries.size());
            for (const std::uint32_t in : entered_) {
                const json::view target = catalog_.dynamic_anchor(in, use.name);
                if (target.exists()) {
                    out_.dynamic_entries.push_back({in, known_.at(target.raw())});
                    ++table.count;
                }
            }
        }
        out_.dynamics[use.jump].first = table.first;
        out_.dynamics[use.jump].count = table.count;
    }
}

// Blocks that `one` applies to the value itself. What a dynamic reference leads to is not known
// before validation, which counts its depth.
void compiler::in_place(const step& one, std::vector<std::uint32_t>& next) const {
    switch (one.code) {
        case op::reference:
        case op::negation:
        case op::dependent_schema:
            next.push_back(one.a);
            break;
        case op::all_of:
        case op::any_of:
        case op::one_of:
            next.insert(next.end(), out_.children.begin() + one.a,
                        out_.children.begin() + one.a + one.b);
            break;
        case op::condition:
            next.push_back(one.a);
            for (const std::uint32_t branch : {one.b, one.c}) {
                if (branch != no_block) {
                    next.push_back(branch);
                }
            }
            break;
        default:
            break;
    }
}

// A schema that applies itself to the same value again would never come to an end.
bool compiler::find_circle() {
    enum class mark : std::uint8_t { fresh, open, done };
    struct visit {
        std::uint32_t index;
        std::vector<std::uint32_t> next;
    };
    std::vector<mark> marks(out_.blocks.size(), mark::fresh);
    std::vector<visit> path;
    const auto enter = [&](std::uint32_t index) {
        visit one{index, {}};
        const block& b = out_.blocks[index];
        for (std::uint32_t i = b.first; i < b.first + b.count; ++i) {
            in_place(out_.steps[i], one.next);
        }
        marks[index] = mark::open;
        path.push_back(std::move(one));
    };
    for (std::uint32_t start = 0; start < marks.size(); ++start) {
        if (marks[start] == mark::fresh) {
            enter(start);
        }
        while (!path.empty()) {
            if (path.back().next.empty()) {
                marks[path.back().index] = mark::done;
                path.pop_back();
                continue;
            }
            const std::uint32_t next = path.back().next.back();
            path.back().next.pop_back();
            if (marks[next] == mark::open) {
                return fail_at(queue_[next].schema, "refers to itself without end");
            }
            if (marks[next] == mark::fresh) {
                enter(next);
            }
        }
    }
    return true;
}

}  // namespace pillion::schema_check
