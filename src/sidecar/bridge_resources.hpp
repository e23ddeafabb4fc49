// bridge_resources: the resources of the servers behind us, as one provider: which server has which
// URI, and which templates. Where two have the same one, the first server named keeps it.
//
// Thread-safety: any thread; what may change has a lock.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <pillion/provider.hpp>

#include "mcp/uri_template.hpp"
#include "sidecar/bridge_links.hpp"

namespace pillion::sidecar {

class bridge;

class bridge_resources final : public resource_provider {
 public:
    // What a server has: entries and templates as JSON.
    void set(const std::string& server, const std::vector<std::string>& entries,
             const std::vector<std::string>& templates);
    void remove(const std::string& server);
    // The server that has it; empty: none.
    std::string server_of(std::string_view uri) const;
    // Who reads; null: nobody does any more.
    void read_by(bridge* who);
    // What the servers name without listing it; to be provided after all other resources.
    const std::shared_ptr<bridge_links>& links() const noexcept { return links_; }

    bool owns(std::string_view uri) const noexcept override;
    task<result<bool>> list(context& ctx, std::string_view after, resource_page& page) override;
    task<resource_result> read(context& ctx, std::string_view uri) override;
    void subscribed(std::string_view uri, bool on) override;

 private:
    struct entry {
        std::string server;
        std::string name;
        std::string title;
        std::string description;
        std::string mime_type;
        std::int64_t size = -1;
        content_annotations annotations;  // but for the next one
        std::string last_modified;
        std::vector<icon> icons;
        std::string meta;
    };
    struct pattern {
        std::string server;
        mcp::uri_template form;
    };

    std::string find_server(std::string_view uri) const;
    bridge* reader() const;

    const std::shared_ptr<bridge_links> links_ = std::make_shared<bridge_links>();
    mutable std::mutex mutex_;  // guards all below
    std::map<std::string, entry, std::less<>> entries_;
    std::vector<pattern> patterns_;
    bridge* bridge_ = nullptr;
};

}  // namespace pillion::sidecar
