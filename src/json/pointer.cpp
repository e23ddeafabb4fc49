#include "json/pointer.hpp"

#include <functional>
#include <optional>

#include "base/number.hpp"
#include "json/node.hpp"

namespace pillion::json {

namespace {

// Whether the unescaped `token` is `key`.
bool is_name(std::string_view token, std::string_view key) noexcept {
    std::size_t at = 0;
    for (std::size_t i = 0; i < token.size(); ++i, ++at) {
        char c = token[i];
        if (c == '~') {
            c = token[++i] == '0' ? '~' : '/';
        }
        if (at == key.size() || key[at] != c) {
            return false;
        }
    }
    return at == key.size();
}

std::optional<std::size_t> element_index(std::string_view token) noexcept {
    if (token.empty() || token[0] == '-') {
        return std::nullopt;
    }
    return base::parse_u64(token);
}

// The child of `parent` that an escaped token leads to.
view step(view parent, std::string_view token) noexcept {
    if (parent.is_array()) {
        const auto index = element_index(token);
        return index ? parent[*index] : view();
    }
    if (token.find('~') == std::string_view::npos) {
        return parent[token];
    }
    view found;
    for (const member m : parent.members()) {
        if (is_name(token, m.key)) {
            found = m.value;
        }
    }
    return found;
}

void append_key(base::byte_buffer& out, std::string_view key) noexcept {
    out.append('/');
    for (const char c : key) {
        if (c == '~') {
            out.append("~0");
        } else if (c == '/') {
            out.append("~1");
        } else {
            out.append(c);
        }
    }
}

void append_index(base::byte_buffer& out, std::size_t index) noexcept {
    out.append('/');
    char* const at = out.reserve(base::integer_text_max);
    const char* const end = base::format(at, static_cast<std::uint64_t>(index));
    out.commit(static_cast<std::size_t>(end - at));
}

// Whether `target` is `n` or lies in it: the nodes of a document are one array.
bool within(const node* n, const node* target) noexcept {
    const std::less<const node*> before;
    return !before(target, n) && before(target, next(n));
}

}  // namespace

bool is_pointer(std::string_view pointer) noexcept {
    if (!pointer.empty() && pointer[0] != '/') {
        return false;
    }
    for (std::size_t at = 0; (at = pointer.find('~', at)) != std::string_view::npos; ++at) {
        if (at + 1 == pointer.size() || (pointer[at + 1] != '0' && pointer[at + 1] != '1')) {
            return false;
        }
    }
    return true;
}

view resolve(view root, std::string_view pointer) noexcept {
    if (!is_pointer(pointer)) {
        return {};
    }
    while (!pointer.empty() && root) {
        const std::size_t slash = pointer.find('/', 1);
        const std::size_t end = slash == std::string_view::npos ? pointer.size() : slash;
        root = step(root, pointer.substr(1, end - 1));
        pointer.remove_prefix(end);
    }
    return root;
}

void append_pointer(base::byte_buffer& out, const path_step* leaf) noexcept {
    // Root first; the recursion is as deep as the walk that left the steps on its stack.
    if (leaf == nullptr) {
        return;
    }
    append_pointer(out, leaf->parent);
    if (leaf->in_object) {
        append_key(out, leaf->key);
    } else {
        append_index(out, leaf->index);
    }
}

bool append_pointer(base::byte_buffer& out, view root, view target) noexcept {
    if (!root || !target || !within(root.raw(), target.raw())) {
        return false;
    }
    const std::size_t size_before = out.size();
    const node* at = root.raw();
    while (at != target.raw()) {
        const bool object = at->type == kind::object;
        const node* child = at + 1;
        std::size_t index = 0;
        while (!within(object ? child + 1 : child, target.raw())) {
            if (object && child == target.raw()) {  // a key is no value of its own
                out.truncate(size_before);
                return false;
            }
            child = next(object ? child + 1 : child);
            ++index;
        }
        if (object) {
            append_key(out, child->view_text());
        } else {
            append_index(out, index);
        }
        at = object ? child + 1 : child;
    }
    return true;
}

}  // namespace pillion::json
