#include "app/description_source.hpp"

#include <memory>
#include <utility>

#include "app/fetch.hpp"
#include "client/lookup.hpp"

namespace pillion::app {

namespace {

constexpr std::int64_t timeout_ms = 10'000;

std::string origin_of(const client::url& one) {
    return (one.secure ? "https://" : "http://") + one.authority;
}

}  // namespace

bool fetch_description(const std::string& url, const sidecar::upstream_spec* through,
                       std::string& text, std::string& fault) {
    auto where = client::parse_url(url, fault);
    if (!where) {
        return false;
    }
    client::question what;
    std::shared_ptr<const std::string> authorities;
    std::string ignored;
    const auto service =
        through == nullptr ? std::nullopt : client::parse_url(through->url, ignored);
    if (service && service->has_origin_of(*where)) {
        what.socket = through->socket;
        for (const sidecar::name_and_text& one : through->headers) {
            what.headers.emplace_back(one.first, one.second);
        }
        if (!through->authorities.empty()) {
            authorities = std::make_shared<const std::string>(through->authorities);
        }
    }
    if (where->secure && authorities == nullptr) {
        authorities = client::system_authorities();
    }
    what.to = std::move(*where);
    what.accept = "application/json, application/yaml;q=0.9, */*;q=0.5";
    what.timeout_ms = timeout_ms;
    what.answer_bytes_max = description_bytes_max;
    auto said = fetch(std::move(what), std::move(authorities), fault);
    if (!said) {
        return false;
    }
    if (!said->fault.empty() || said->status != 200) {
        fault = !said->fault.empty() ? std::string(said->fault)
                                     : "the answer has status " + std::to_string(said->status);
        return false;
    }
    text = std::move(said->body);
    return true;
}

std::string server_of_description(const std::string& url, const std::string& said) {
    std::string ignored;
    const auto from = client::parse_url(url, ignored);
    if (!from || !from->is_private()) {
        return {};
    }
    if (client::looks_like_url(said)) {
        return said;
    }
    const auto there = client::resolve_url(*from, said.empty() ? "/" : said, ignored);
    if (!there || !there->has_origin_of(*from) || said.starts_with('.')) {
        return {};
    }
    return origin_of(*there) + (there->target == "/" ? "" : there->target);
}

}  // namespace pillion::app
