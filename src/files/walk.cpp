// The depth-first walk of a tree, which can begin behind any path.
#include <algorithm>

#include "files/path.hpp"
#include "files/tree.hpp"

namespace pillion::files {

namespace {

// Names of one directory held at a time; a larger directory is scanned again for the next ones.
constexpr std::size_t batch_names_max = 256;

}  // namespace

// One walk() under way: the directories from its start down to where it is.
class walker {
 public:
    walker(const tree& where, std::size_t entries_max, bool directories,
           std::size_t names_max) noexcept
        : tree_(where),
          entries_max_(entries_max),
          names_max_(names_max),
          directories_(directories) {}

    // Enters the directory `path`; errors are those of opening it.
    result<void> start(std::string_view path, std::string_view after);
    // Goes on until the page is full, the budget is spent or all is seen.
    result<page> run();

 private:
    struct level {
        std::string path;
        std::string after;  // names up to this one are done
        std::vector<raw_name> names{};
        std::size_t at = 0;
        bool last = false;  // `names` are the last of the directory

        level(std::string directory, std::string_view done)
            : path(std::move(directory)), after(done) {}
    };

    void descend(std::string directory);
    void ascend() noexcept;
    result<void> refill(level& here);
    bool visit(std::string path);
    bool may_enter(const std::string& path) const;

    const tree& tree_;
    std::size_t entries_max_;
    std::size_t names_max_;
    bool directories_;
    std::vector<level> levels_;
    ignore_chain rules_;  // of levels_.back()
    std::size_t scanned_ = 0;
    std::size_t seen_ = 0;
    std::string position_;  // all up to here is done
    page out_;
};

bool walker::may_enter(const std::string& path) const {
    const result<entry> what = tree_.stat(path);
    return what && what->kind == entry_kind::directory && !what->linked;
}

void walker::descend(std::string directory) {
    tree_.enter(rules_, directory);
    levels_.emplace_back(std::move(directory), std::string_view{});
}

void walker::ascend() noexcept {
    rules_.leave();
    levels_.pop_back();
}

result<void> walker::start(std::string_view path, std::string_view after) {
    rules_ = tree_.rules_of(path);
    levels_.emplace_back(std::string(path), std::string_view{});
    position_ = after;
    std::string_view rest = after;
    rest.remove_prefix(after.empty() ? 0 : path.size());
    while (!rest.empty()) {
        rest.remove_prefix(rest.front() == '/' ? 1 : 0);
        const std::size_t slash = std::min(rest.find('/'), rest.size());
        const std::string_view name = rest.substr(0, slash);
        rest.remove_prefix(slash);
        levels_.back().after = name;
        std::string below = join(levels_.back().path, name);
        if (levels_.size() > walk_depth_max || !may_enter(below)) {
            break;
        }
        if (rules_.leaves_out(below, true)) {
            break;
        }
        descend(std::move(below));
    }
    return refill(levels_.front());
}

result<void> walker::refill(level& here) {
    here.names.clear();
    here.at = 0;
    here.last = true;
    result<unique_fd> fd = tree_.open_directory(here.path);
    if (!fd) {
        return fd.error();
    }
    result<name_batch> batch =
        read_names(std::move(*fd), here.after, batch_names_max, tree_.hidden());
    if (!batch) {
        return batch.error();
    }
    scanned_ += batch->scanned;
    here.names = std::move(batch->names);
    here.last = !batch->more;
    return ok();
}

// Takes the entry `path` into the page and enters it. False when the page is full.
bool walker::visit(std::string path) {
    result<entry> what = tree_.stat(path);
    const bool directory = what && what->kind == entry_kind::directory;
    const bool listed = what && !rules_.leaves_out(path, directory && !what->linked);
    if (listed && (!directory || directories_)) {
        if (out_.entries.size() == entries_max_) {
            return false;
        }
        out_.entries.push_back(*what);
    }
    ++seen_;
    position_ = path;
    levels_.back().after = name_of(path);
    ++levels_.back().at;
    if (listed && directory && !what->linked && levels_.size() <= walk_depth_max) {
        descend(std::move(path));
    }
    return true;
}

result<page> walker::run() {
    while (!levels_.empty()) {
        level& here = levels_.back();
        if (here.at < here.names.size()) {
            if (!visit(join(here.path, here.names[here.at].name))) {
                out_.more = true;
                break;
            }
        } else if (here.last) {
            ascend();
        } else if (scanned_ > names_max_ && seen_ > 0) {
            out_.more = true;
            break;
        } else if (const result<void> filled = refill(here); !filled) {
            ascend();
        }
    }
    if (out_.more) {
        out_.next = std::move(position_);
    }
    return std::move(out_);
}

result<page> tree::walk(std::string_view path, std::string_view after, std::size_t entries_max,
                        bool directories, std::size_t names_max) const {
    if (!valid_path(after) || !valid_path(path) || (!after.empty() && !is_within(after, path))) {
        return error(errc::invalid, "the place to go on from is not in this directory");
    }
    const result<entry> base = stat(path);
    if (!base) {
        return base.error();
    }
    walker one(*this, std::clamp<std::size_t>(entries_max, 1, page_entries_max), directories,
               names_max);
    const result<void> started = one.start(path, after);
    if (!started) {
        return started.error();
    }
    return one.run();
}

}  // namespace pillion::files
