#include "app/builtins.hpp"

#include <algorithm>
#include <chrono>

#include "base/number.hpp"

namespace pillion::app {

namespace {

constexpr double wait_seconds_max = 3600;
constexpr std::int64_t wait_steps_max = 1000;
// Steps when none are asked for: one a second, but no more than this.
constexpr std::int64_t wait_steps_default_max = 100;

constexpr std::string_view brief_text =
    "Pillion serves one directory of files, read-only, to an agent.\n"
    "\n"
    "Choose it to find files, to search their text, to list directories, to read text or binary "
    "files of that directory and to be told when they change.\n"
    "Do not choose it to write, move or delete files, to run programs, to search the web or to "
    "read anything outside of the directory: it cannot.\n"
    "\n"
    "Constraints:\n"
    "- Paths are relative to the served directory, with slashes, without \"..\" and without a "
    "leading slash.\n"
    "- Names that begin with a dot are not there unless the operator enabled them.\n"
    "- What .gitignore files leave out is not listed or searched unless the operator said so; it "
    "can be read by its path.\n"
    "- Symbolic links that lead out of the directory, sockets, pipes and devices are not there.\n"
    "- An answer of read_file holds at most 1 MiB, one of list_files at most 200 "
    "entries, one of search_files at most 1000 lines; \"truncated\" tells that there is more.\n"
    "- No tool changes anything.\n";
static_assert(brief_text.size() <= 2048);

constexpr std::string_view prompt_text =
    "You can read the files of one directory through this server. Work like this:\n"
    "\n"
    "1. Call list_files without arguments to see the top level. Give \"path\" to look into a "
    "directory, \"recursive\": true to see everything below it. While \"truncated\" is true, call "
    "again with the same arguments and \"cursor\" set to \"next_cursor\".\n"
    "2. Call search_files with a \"pattern\" to find lines: plain text, or a regular expression in "
    "RE2 syntax with \"regex\": true. \"path\" narrows it to a directory or file, "
    "\"context_lines\" (up to 5) shows what is around a match. When \"truncated\" is true, narrow "
    "the pattern or the path.\n"
    "3. Call read_file with the \"path\" of an entry. It returns 64 KiB unless \"length\" asks for "
    "more (at most 1048576). While \"truncated\" is true, call again with \"offset\" set to "
    "\"next_offset\".\n"
    "4. A file that is not text comes as an embedded binary resource; do not guess its contents.\n"
    "5. Files are also resources: pillion://files/<path, percent-encoded>, up to 1 MiB each. "
    "Subscribe to one to be told when it changes.\n"
    "6. echo returns its text and wait lets time pass; both are for checking the connection.\n"
    "\n"
    "Limits: a request may be 1 MiB, a call may take 30 seconds (wait: an hour).\n"
    "\n"
    "When you answer, name the path of every file you rely on, and quote rather than paraphrase "
    "where wording matters. If a file is missing or was cut, say so.\n"
    "\n"
    "Examples:\n"
    "  list_files {\"path\": \"docs\", \"recursive\": true}\n"
    "  search_files {\"pattern\": \"timeout\", \"path\": \"docs\", \"context_lines\": 2}\n"
    "  read_file {\"path\": \"docs/setup.md\"}\n"
    "  read_file {\"path\": \"logs/app.log\", \"offset\": 65536, \"length\": 16384}\n";

tool_result echo(context& ctx, json::view arguments) { return ctx.text(arguments["text"].str()); }

task<tool_result> wait(context& ctx, json::view arguments) {
    const double seconds = std::clamp(arguments["seconds"].num(), 0.0, wait_seconds_max);
    const std::int64_t usual =
        std::clamp<std::int64_t>(base::round_up(seconds), 1, wait_steps_default_max);
    const std::int64_t steps =
        std::clamp<std::int64_t>(arguments["steps"].integral().value_or(usual), 1, wait_steps_max);
    const std::chrono::nanoseconds step(
        static_cast<std::int64_t>(seconds * 1e9 / static_cast<double>(steps)));
    for (std::int64_t done = 1; done <= steps; ++done) {
        const bool passed = co_await ctx.sleep(step);
        if (!passed) {
            co_return ctx.error("stopped before the time had passed");
        }
        co_await ctx.progress(static_cast<double>(done), static_cast<double>(steps));
    }
    co_return ctx.text("waited ", arguments["seconds"].number_text(), " s");
}

task<prompt_result> give_brief(context& ctx, json::view /*arguments*/) {
    prompt_result answer = ctx.prompt("When to use this server, and its constraints");
    answer.user(brief_text);
    co_return answer;
}

task<prompt_result> give_prompt(context& ctx, json::view /*arguments*/) {
    prompt_result answer = ctx.prompt("How to work with the tools of this server");
    answer.user(prompt_text);
    co_return answer;
}

}  // namespace

std::string_view agent_brief() noexcept { return brief_text; }

std::string_view agent_prompt() noexcept { return prompt_text; }

void add_builtins(server& to) {
    to.tool("echo")
        .title("Echo")
        .about("Returns the text it was given, unchanged; for checking the connection. Read-only.")
        .input(object().required("text", string().about("The text to return")))
        .read_only()
        .run(echo);
    to.tool("wait")
        .title("Wait")
        .about(
            "Waits for a time and reports progress after every step; can be cancelled. For "
            "checking progress, cancelling and time limits. Read-only.")
        .input(object()
                   .required("seconds", number().min(0).max(wait_seconds_max).about("How long"))
                   .optional("steps", integer()
                                          .min(1)
                                          .max(static_cast<double>(wait_steps_max))
                                          .about("Progress reports on the way; one a second when "
                                                 "left out, at most 100")))
        .timeout(std::chrono::seconds(3660))
        .read_only()
        .run(wait);
    to.prompt("agent_brief")
        .title("Agent brief")
        .about("When to choose this server, when not, and its constraints.")
        .run(give_brief);
    to.prompt("agent_prompt")
        .title("Agent prompt")
        .about("How to use the tools of this server: order of calls, limits, examples.")
        .run(give_prompt);
}

}  // namespace pillion::app
