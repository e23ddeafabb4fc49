// The tool search_files.
#include <algorithm>
#include <chrono>

#include "app/file_server.hpp"
#include "files/search.hpp"

namespace pillion::app {

namespace {

constexpr std::int64_t matches_default = 100;
// What is found by then is given out instead of a missed deadline.
constexpr std::chrono::milliseconds time_to_answer(500);

void write_lines(json::builder& out, std::string_view name, const std::vector<std::string>& lines) {
    out.key(name).begin_array();
    for (const std::string& line : lines) {
        out.value(line);
    }
    out.end_array();
}

tool_result found(context& ctx, const files::search& done, bool truncated, bool context_lines) {
    json::builder out;
    out.begin_object().key("matches").begin_array();
    for (const files::search_match& one : done.matches()) {
        out.begin_object().member("path", one.path).member("line", one.line);
        out.member("column", one.column).member("text", one.text);
        if (context_lines) {
            write_lines(out, "before", one.before);
            write_lines(out, "after", one.after);
        }
        out.end_object();
    }
    out.end_array().member("truncated", truncated);
    out.member("files_searched", done.files_searched());
    out.member("files_skipped", done.files_skipped()).end_object();
    tool_result answer = ctx.result();
    answer.structured(out.text());
    return answer;
}

std::int64_t bounded(json::view number, std::int64_t usual, std::int64_t least, std::size_t most) {
    return std::clamp(number.integral().value_or(usual), least, static_cast<std::int64_t>(most));
}

}  // namespace

schema search_input() {
    return object()
        .required("pattern", string()
                                 .min(1)
                                 .max(static_cast<double>(files::search_pattern_bytes_max))
                                 .about("What to look for, within one line"))
        .optional("path", string().about("File or directory to search, relative to the root; left "
                                         "out for everything"))
        .optional("regex", boolean().default_json("false").about(
                               "The pattern is a regular expression (RE2 syntax), not plain text"))
        .optional("ignore_case",
                  boolean().default_json("false").about("Whether A matches a as well"))
        .optional("max_results", integer()
                                     .min(1)
                                     .max(static_cast<double>(files::search_matches_max))
                                     .default_json(std::to_string(matches_default))
                                     .about("Most lines to return"))
        .optional("context_lines", integer()
                                       .min(0)
                                       .max(static_cast<double>(files::search_context_lines_max))
                                       .default_json("0")
                                       .about("Lines to show before and after each match"));
}

schema search_output() {
    const schema one = object()
                           .required("path", string().about("Relative to the root"))
                           .required("line", integer().min(1))
                           .required("column", integer().min(1).about("In characters"))
                           .required("text", string().about("The line; a long one is cut"))
                           .optional("before", array(string()))
                           .optional("after", array(string()));
    return object()
        .required("matches", array(one))
        .required("truncated", boolean().about("There may be more: narrow the pattern or path"))
        .required("files_searched", integer().min(0))
        .required("files_skipped", integer().min(0).about("Over 64 MiB or not readable"));
}

task<tool_result> file_server::search_files(context& ctx, json::view arguments) const {
    files::search_request what;
    what.pattern = arguments["pattern"].str();
    what.regex = arguments["regex"].boolean();
    what.ignore_case = arguments["ignore_case"].boolean();
    what.matches_max = static_cast<std::size_t>(
        bounded(arguments["max_results"], matches_default, 1, files::search_matches_max));
    what.context_lines = static_cast<std::size_t>(
        bounded(arguments["context_lines"], 0, 0, files::search_context_lines_max));
    std::string fault;
    const std::unique_ptr<files::search> job = files::search::make(served(), what, fault);
    if (job == nullptr) {
        co_return ctx.error(fault);
    }
    const std::string_view path = arguments["path"].str();
    auto begin = [&job, path] { return job->start(path); };
    const result<void> started = co_await ctx.blocking(begin);
    if (!started) {
        co_return ctx.error(started.error());
    }
    auto slice = [&job] { return job->step(); };
    bool more = true;
    while (more && ctx.remaining() > time_to_answer) {
        more = co_await ctx.blocking(slice);
        if (ctx.stopped()) {
            co_return ctx.error("stopped before the search was over");
        }
        if (more) {
            const std::string message = std::to_string(job->files_searched()) + " files searched";
            co_await ctx.progress(static_cast<double>(job->bytes_searched()), 0, message);
        }
    }
    co_return found(ctx, *job, more || job->full(), what.context_lines > 0);
}

}  // namespace pillion::app
