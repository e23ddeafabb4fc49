"""Judges every message a server sends by the official JSON schema of its revision.

Revisions go by letters: A 2024-11-05, B 2025-03-26, C 2025-06-18, D 2025-11-25, E 2026-07-28.
The schemas are looked for in $PILLION_SHARED/spec/schemas, else in ../shared beside the
repository. Where they are absent only the rules that need no schema are checked.
"""

import base64
import binascii
import collections
import json
import os
import pathlib
import re

import jsonschema

VERSIONS = {"A": "2024-11-05", "B": "2025-03-26", "C": "2025-06-18", "D": "2025-11-25",
            "E": "2026-07-28"}
LEGACY = "ABCD"
LATEST_LEGACY = VERSIONS["D"]

# The extension for tasks of E has a schema of its own; here it goes by a letter of its own, too.
EXTENSION = "X"
TASKS = "io.modelcontextprotocol/tasks"
RELATED_TASK = "io.modelcontextprotocol/related-task"

SERVER_INFO = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId"

# Typed result of a request, for the revisions that know the method.
RESULTS_SHARED = {
    "tools/list": "ListToolsResult",
    "tools/call": "CallToolResult",
    "resources/list": "ListResourcesResult",
    "resources/templates/list": "ListResourceTemplatesResult",
    "resources/read": "ReadResourceResult",
    "prompts/list": "ListPromptsResult",
    "prompts/get": "GetPromptResult",
    "completion/complete": "CompleteResult",
}
RESULTS_LEGACY = {
    **RESULTS_SHARED,
    "initialize": "InitializeResult",
    "ping": "EmptyResult",
    "logging/setLevel": "EmptyResult",
    "resources/subscribe": "EmptyResult",
    "resources/unsubscribe": "EmptyResult",
}
RESULTS = {
    "A": RESULTS_LEGACY,
    "B": RESULTS_LEGACY,
    "C": RESULTS_LEGACY,
    "D": {
        **RESULTS_LEGACY,
        "tasks/get": "GetTaskResult",
        "tasks/list": "ListTasksResult",
        "tasks/cancel": "CancelTaskResult",
        "tasks/result": "CallToolResult",
    },
    "E": {
        **RESULTS_SHARED,
        "server/discover": "DiscoverResult",
        "subscriptions/listen": "SubscriptionsListenResult",
    },
}
RESULTS_EXTENSION = {
    "tasks/get": "GetTaskResult",
    "tasks/update": "UpdateTaskResult",
    "tasks/cancel": "CancelTaskResult",
}
# The other shape a result may take, by the member or the value that gives it away.
CACHEABLE = {"server/discover", "tools/list", "prompts/list", "resources/list",
             "resources/templates/list", "resources/read"}
MAY_ASK_FOR_INPUT = {"tools/call", "prompts/get", "resources/read"}

NOTIFICATIONS_SHARED = {
    "notifications/cancelled": "CancelledNotification",
    "notifications/progress": "ProgressNotification",
    "notifications/message": "LoggingMessageNotification",
    "notifications/tools/list_changed": "ToolListChangedNotification",
    "notifications/prompts/list_changed": "PromptListChangedNotification",
    "notifications/resources/list_changed": "ResourceListChangedNotification",
    "notifications/resources/updated": "ResourceUpdatedNotification",
}
NOTIFICATIONS = {
    "A": NOTIFICATIONS_SHARED,
    "B": NOTIFICATIONS_SHARED,
    "C": NOTIFICATIONS_SHARED,
    "D": {
        **NOTIFICATIONS_SHARED,
        "notifications/elicitation/complete": "ElicitationCompleteNotification",
        "notifications/tasks/status": "TaskStatusNotification",
    },
    "E": {
        **NOTIFICATIONS_SHARED,
        "notifications/subscriptions/acknowledged": "SubscriptionsAcknowledgedNotification",
    },
}
REQUESTS = {  # from the server to the client; E has none
    "ping": "PingRequest",
    "sampling/createMessage": "CreateMessageRequest",
    "roots/list": "ListRootsRequest",
    "elicitation/create": "ElicitRequest",
}
# Typed errors: the whole message, or (second table) the error object alone.
ERROR_MESSAGES = {
    "D": {-32042: "URLElicitationRequiredError"},
    "E": {-32020: "HeaderMismatchError", -32021: "MissingRequiredClientCapabilityError",
          -32022: "UnsupportedProtocolVersionError"},
}
ERROR_OBJECTS = {
    "E": {-32700: "ParseError", -32600: "InvalidRequestError", -32601: "MethodNotFoundError",
          -32602: "InvalidParamsError", -32603: "InternalError"},
}
ERROR_CODES_FORBIDDEN = {"A": {-32042}, "B": {-32042}, "C": {-32042}, "D": set(),
                         "E": {-32002, -32042}}

URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S*\Z")
FORMATS = jsonschema.FormatChecker(formats=())


@FORMATS.checks("byte", raises=binascii.Error)
def is_base64(value):
    """Standard alphabet, padded, nothing else."""
    return not isinstance(value, str) or base64.b64decode(value, validate=True) is not None


@FORMATS.checks("uri")
def is_uri(value):
    return not isinstance(value, str) or URI.match(value) is not None


def schema_folder():
    root = pathlib.Path(__file__).resolve().parents[2]
    shared = os.environ.get("PILLION_SHARED") or root.parent / "shared"
    return pathlib.Path(shared) / "spec" / "schemas"


class WireError(AssertionError):
    """A message that the revision does not allow."""


class Judge:
    """Validates messages; counts them by (revision, what) in `seen`."""

    def __init__(self, folder=None):
        self.folder = pathlib.Path(folder) if folder else schema_folder()
        self.enabled = all(self._file(rev).is_file() for rev in [*VERSIONS, EXTENSION])
        self.seen = collections.Counter()
        self._documents = {}
        self._validators = {}

    def types(self, rev):
        """The names of all types of a revision."""
        return set(self._document(rev)[1])

    def _file(self, rev):
        return self.folder / ("ext-tasks/schema.json" if rev == EXTENSION
                              else f"{VERSIONS[rev]}.json")

    def _document(self, rev):
        if rev not in self._documents:
            document = json.loads(self._file(rev).read_text(encoding="utf-8"))
            key = "$defs" if "$defs" in document else "definitions"
            self._documents[rev] = (key, document[key])
        return self._documents[rev]

    def check(self, rev, type_name, value):
        """`value` must be a `type_name` of revision `rev`."""
        self.seen[(rev, type_name)] += 1
        if not self.enabled:
            return
        if (rev, type_name) not in self._validators:
            key, types = self._document(rev)
            if type_name not in types:
                raise WireError(f"{self._file(rev).name} has no type {type_name}")
            kind = (jsonschema.Draft202012Validator if key == "$defs"
                    else jsonschema.Draft7Validator)
            self._validators[(rev, type_name)] = kind(
                {"$ref": f"#/{key}/{type_name}", key: types}, format_checker=FORMATS)
        failure = jsonschema.exceptions.best_match(
            self._validators[(rev, type_name)].iter_errors(value))
        if failure is not None:
            where = "/".join(str(step) for step in failure.absolute_path)
            raise WireError(f"not a {type_name} of {self._file(rev).name}: at /{where}: "
                            f"{failure.message[:300]}: {json.dumps(value)[:600]}")

    def result(self, rev, method, result):
        """The result of a request for `method`."""
        if not isinstance(result, dict):
            raise WireError(f"a result is an object: {result!r}")
        type_name = RESULTS[rev].get(method)
        if rev == "E" and (method in RESULTS_EXTENSION or result.get("resultType") == "task"):
            return self._extension_result(method, result)
        if type_name is None:
            raise WireError(f"{VERSIONS[rev]} has no {method}, yet it was answered: {result}")
        if rev == "E":
            self._modern_result(method, result)
            if result["resultType"] == "input_required":
                type_name = "InputRequiredResult"
        else:
            for key in ("resultType", "ttlMs", "cacheScope"):
                if key in result:
                    raise WireError(f"{key} is not for {VERSIONS[rev]}: {result}")
            if SERVER_INFO in result.get("_meta", {}):
                raise WireError(f"serverInfo in _meta is not for {VERSIONS[rev]}: {result}")
            if type_name == "EmptyResult" and result != {}:
                raise WireError(f"{method} is answered with exactly {{}}: {result}")
            if rev == "D" and method == "tools/call" and "task" in result:
                type_name = "CreateTaskResult"
        if result.get("nextCursor", "") is None:
            raise WireError("nextCursor is a string or absent, never null")
        self.check(rev, type_name, result)

    def _extension_result(self, method, result):
        """Tasks of E: their keys are not those of D, and what is inlined says nothing of them."""
        if result.get("resultType") == "task":
            if method != "tools/call":
                raise WireError(f"{method} became a task: {result}")
            self.check(EXTENSION, "CreateTaskResult", result)
            extra = {"result", "error", "inputRequests", "requestState"}
        else:
            self._modern_result(method, result)
            self.check(EXTENSION, RESULTS_EXTENSION[method], result)
            extra = set() if method == "tasks/get" else set(result) - {"resultType", "_meta"}
        extra |= {"task", "ttl", "pollInterval"}
        if extra & set(result) or RELATED_TASK in json.dumps(result):
            raise WireError(f"out of place in an answer to {method}: {result}")
        if isinstance(result.get("result"), dict):
            self.check("E", "CallToolResult", result["result"])

    def _modern_result(self, method, result):
        kind = result.get("resultType")
        allowed = {"complete"}
        if method in MAY_ASK_FOR_INPUT:
            allowed.add("input_required")
        if kind not in allowed:
            raise WireError(f"resultType {kind!r} in the result of {method}: {result}")
        cacheable = method in CACHEABLE and kind == "complete"
        for key in ("ttlMs", "cacheScope"):
            if key == "ttlMs" and method in RESULTS_EXTENSION:
                continue  # there it is how long the task is kept
            if (key in result) != cacheable:
                raise WireError(f"{key} {'missing' if cacheable else 'out of place'} "
                                f"in the result of {method}: {result}")
        if cacheable:
            ttl = result["ttlMs"]
            if not isinstance(ttl, int) or isinstance(ttl, bool) or ttl < 0:
                raise WireError(f"ttlMs is an integer from 0 on: {ttl!r}")
            if result["cacheScope"] not in ("public", "private"):
                raise WireError(f"cacheScope {result['cacheScope']!r}")
        info = result.get("_meta", {}).get(SERVER_INFO)
        if not isinstance(info, dict) or not info.get("name") or not info.get("version"):
            raise WireError(f"the result of {method} lacks serverInfo in _meta: {result}")
        self.check("E", "Implementation", info)

    def error(self, rev, message):
        """An error response; its id may be missing or null (the caller knows what it must be)."""
        if set(message) - {"jsonrpc", "id", "error"} or message.get("jsonrpc") != "2.0":
            raise WireError(f"not an error response: {message}")
        error = message["error"]
        if not isinstance(error, dict) or set(error) - {"code", "message", "data"}:
            raise WireError(f"an error is code, message and data: {error}")
        if error.get("data", "") is None:
            raise WireError("error data is absent, not null")
        if error.get("code") in ERROR_CODES_FORBIDDEN[rev]:
            raise WireError(f"{VERSIONS[rev]} has no error {error['code']}")
        complete = dict(message)
        if complete.get("id") is None:
            complete.pop("id", None)
            if rev in "ABC":
                complete["id"] = 0  # these schemas want one where JSON-RPC knows none
        self.check(rev, "JSONRPCErrorResponse" if rev in "DE" else "JSONRPCError", complete)
        code = error["code"]
        if code in ERROR_MESSAGES.get(rev, {}):
            self.check(rev, ERROR_MESSAGES[rev][code], complete)
        if code in ERROR_OBJECTS.get(rev, {}):
            self.check(rev, ERROR_OBJECTS[rev][code], error)

    def notification(self, rev, message):
        if rev == "E" and message["method"] == "notifications/tasks":
            return self.check(EXTENSION, "TaskStatusNotification", message)
        type_name = NOTIFICATIONS[rev].get(message["method"])
        if type_name is None:
            raise WireError(f"{VERSIONS[rev]} has no {message['method']}")
        self.check(rev, type_name, message)

    def request(self, rev, message):
        """A request from the server."""
        if rev == "E":
            raise WireError(f"servers of {VERSIONS[rev]} send no requests: {message}")
        type_name = REQUESTS.get(message["method"])
        if type_name is None:
            raise WireError(f"servers do not request {message['method']}")
        self.check(rev, type_name, message)

    def message(self, rev, message, method_of):
        """Any message. `method_of` tells the method of the request with a given id, or None."""
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            raise WireError(f"not a JSON-RPC message: {message!r}")
        if "method" in message:
            if "result" in message or "error" in message:
                raise WireError(f"neither request nor response: {message}")
            return (self.request if "id" in message else self.notification)(rev, message)
        if ("result" in message) == ("error" in message):
            raise WireError(f"a response has either a result or an error: {message}")
        if "error" in message:
            return self.error(rev, message)
        identifier = message.get("id")
        if not isinstance(identifier, (str, int)) or isinstance(identifier, bool):
            raise WireError(f"a result needs the id of its request: {message}")
        if set(message) != {"jsonrpc", "id", "result"}:
            raise WireError(f"not a result response: {message}")
        method = method_of(identifier)
        if method is None:
            raise WireError(f"nobody asked for id {identifier!r}: {message}")
        if rev == "D" and method == "tasks/result":
            if not message["result"].get("_meta", {}).get(RELATED_TASK, {}).get("taskId"):
                raise WireError(f"the outcome of a task names it: {message}")
        return self.result(rev, method, message["result"])


JUDGE = Judge()
