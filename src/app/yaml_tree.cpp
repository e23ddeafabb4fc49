#include "app/yaml_tree.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>
#include <algorithm>
#include <exception>
#include <map>
#include <sstream>
#include <unordered_set>
#include <utility>

#include "base/utf8.hpp"

namespace pillion::app {

namespace {

// Ends the parse from inside; the fault has been noted.
struct gave_up : std::exception {};

// Marks count bytes; people and editors count characters.
class line_index {
 public:
    explicit line_index(std::string_view text) : text_(text) {
        for (std::size_t i = 0; i < text.size(); ++i) {
            if (text[i] == '\n') {
                begins_.push_back(i + 1);
            }
        }
    }

    file_place place(const YAML::Mark& mark) const {
        return mark.is_null() ? file_place{1, 1} : place(mark.line, mark.column);
    }

    file_place place_of(std::size_t offset) const {
        const auto next = std::upper_bound(begins_.begin(), begins_.end(), offset);
        const auto line = next - begins_.begin() - 1;
        const std::size_t begin = begins_[static_cast<std::size_t>(line)];
        return place(static_cast<int>(line), static_cast<int>(offset - begin));
    }

 private:
    file_place place(int line, int column) const {
        const std::size_t row =
            std::min(static_cast<std::size_t>(std::max(line, 0)), begins_.size() - 1);
        const std::string_view bytes =
            text_.substr(begins_[row], static_cast<std::size_t>(std::max(column, 0)));
        const auto inside = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; };
        const auto characters = static_cast<std::ptrdiff_t>(bytes.size()) -
                                std::count_if(bytes.begin(), bytes.end(), inside);
        return {static_cast<std::uint32_t>(row + 1), static_cast<std::uint32_t>(characters + 1)};
    }

    std::string_view text_;
    std::vector<std::size_t> begins_{0};
};

// The first byte that YAML does not allow in a file (YAML 1.2.2 §5.1); npos when there is none.
// yaml-cpp would take the byte 4 for the end.
std::size_t first_forbidden(std::string_view text) {
    const std::size_t valid = base::utf8::valid_prefix(text);
    for (std::size_t i = 0; i < valid; ++i) {
        const auto c = static_cast<unsigned char>(text[i]);
        if ((c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7F) {
            return i;
        }
    }
    return valid == text.size() ? text.npos : valid;
}

}  // namespace

class yaml_tree_builder final : public YAML::EventHandler {
 public:
    yaml_tree_builder(yaml_tree& to, const line_index& lines, config_faults& faults)
        : tree_(to), lines_(lines), faults_(faults) {}

    void OnDocumentStart(const YAML::Mark& mark) override {
        if (++documents_ > 1) {
            give_up(mark, "more than one document");
        }
    }
    void OnDocumentEnd() override {}

    void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        if (wants_key()) {
            give_up(mark, "a key is missing");
        }
        add(mark, anchor, yaml_node::kind::null);
    }

    void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  const std::string& value) override {
        if (tag != "?" && tag != "!" && !tag.empty()) {
            give_up(mark, "tags (!…) are not used here");
        }
        if (value.find('\0') != value.npos) {
            give_up(mark, "a zero byte in a text");
        }
        if (wants_key()) {
            return take_key(mark, value);
        }
        yaml_node& node = add(mark, anchor, yaml_node::kind::scalar);
        node.plain = tag != "!";
        node.text = value;
    }

    void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        if (wants_key()) {
            give_up(mark, "a key must be text");
        }
        const auto found = anchors_.find(anchor);
        if (found == anchors_.end() || !done_[found->second]) {
            give_up(mark, "an alias inside of what it names");
        }
        count(mark, weight_[found->second]);
        attach(found->second);
    }

    void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                         YAML::EmitterStyle::value /*style*/) override {
        begin(mark, tag, anchor, yaml_node::kind::list);
    }
    void OnSequenceEnd() override { end(); }
    void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                    YAML::EmitterStyle::value /*style*/) override {
        begin(mark, tag, anchor, yaml_node::kind::map);
    }
    void OnMapEnd() override { end(); }

 private:
    // A container that is not yet whole.
    struct open_node {
        std::size_t index;
        std::size_t total_before;
        bool has_key = false;
        std::unordered_set<std::string> names;
    };

    [[noreturn]] void give_up(const YAML::Mark& mark, std::string text) {
        faults_.push_back({lines_.place(mark), std::move(text)});
        throw gave_up();
    }

    bool wants_key() const {
        return !open_.empty() && tree_.nodes_[open_.back().index].what == yaml_node::kind::map &&
               !open_.back().has_key;
    }

    void take_key(const YAML::Mark& mark, const std::string& name) {
        open_node& map = open_.back();
        if (!map.names.insert(name).second) {
            faults_.push_back({lines_.place(mark), "the key " + shown(name) + " stands twice"});
            if (faults_.size() >= config_faults_max) {
                throw gave_up();
            }
        }
        count(mark, 1);
        tree_.nodes_[map.index].members.push_back({name, lines_.place(mark), 0});
        map.has_key = true;
    }

    void count(const YAML::Mark& mark, std::size_t nodes) {
        total_ += nodes;
        if (total_ > yaml_tree::nodes_max) {
            give_up(mark, "more than " + std::to_string(yaml_tree::nodes_max) +
                              " keys and values, aliases followed");
        }
    }

    yaml_node& add(const YAML::Mark& mark, YAML::anchor_t anchor, yaml_node::kind what) {
        count(mark, 1);
        const std::size_t index = tree_.nodes_.size();
        yaml_node& made = tree_.nodes_.emplace_back();
        made.what = what;
        made.at = lines_.place(mark);
        const bool whole = what == yaml_node::kind::null || what == yaml_node::kind::scalar;
        weight_.resize(index + 1, 1);
        done_.resize(index + 1, whole);
        done_[index] = whole;
        if (anchor != 0) {
            anchors_[anchor] = index;
        }
        attach(index);
        return tree_.nodes_[index];
    }

    void attach(std::size_t index) {
        if (open_.empty()) {
            tree_.root_ = index;
            return;
        }
        yaml_node& parent = tree_.nodes_[open_.back().index];
        if (parent.what == yaml_node::kind::list) {
            parent.items.push_back(index);
        } else {
            parent.members.back().value = index;
            open_.back().has_key = false;
        }
    }

    void begin(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
               yaml_node::kind what) {
        if (wants_key()) {
            give_up(mark, "a key must be text");
        }
        if (tag != "?" && tag != "!" && !tag.empty()) {
            give_up(mark, "tags (!…) are not used here");
        }
        if (open_.size() >= yaml_tree::depth_max) {
            give_up(mark, "nested more than " + std::to_string(yaml_tree::depth_max) + " deep");
        }
        const std::size_t before = total_;
        add(mark, anchor, what);
        open_.push_back({tree_.nodes_.size() - 1, before, false, {}});
    }

    void end() {
        const open_node& whole = open_.back();
        weight_[whole.index] = total_ - whole.total_before;
        done_[whole.index] = true;
        open_.pop_back();
    }

    yaml_tree& tree_;
    const line_index& lines_;
    config_faults& faults_;
    std::vector<open_node> open_;
    std::vector<std::size_t> weight_;  // by node: how many it stands for
    std::vector<bool> done_;           // by node: whole
    std::map<YAML::anchor_t, std::size_t> anchors_;
    std::size_t total_ = 0;
    int documents_ = 0;
};

bool yaml_tree::read(std::string_view text, config_faults& faults) {
    if (text.size() > bytes_max) {
        faults.push_back({{1, 1}, "larger than 1 MiB"});
        return false;
    }
    if (text.starts_with("\xEF\xBB\xBF")) {
        text.remove_prefix(3);
    }
    const line_index lines(text);
    if (const std::size_t bad = first_forbidden(text); bad != text.npos) {
        faults.push_back({lines.place_of(bad), "a byte that is no text (UTF-8 is expected)"});
        return false;
    }
    nodes_.assign(1, {});
    root_ = 0;
    yaml_tree_builder builder(*this, lines, faults);
    try {
        std::istringstream in{std::string(text)};
        YAML::Parser parser(in);
        while (parser.HandleNextDocument(builder)) {
        }
    } catch (const gave_up&) {
        return false;
    } catch (const YAML::Exception& e) {
        faults.push_back({lines.place(e.mark), "not YAML: " + e.msg});
        return false;
    } catch (const std::exception&) {
        faults.push_back({{1, 1}, "not YAML"});
        return false;
    }
    return true;
}

}  // namespace pillion::app
