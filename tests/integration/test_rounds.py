"""Questions to clients of 2026-07-28: the call ends with what is asked, and comes again with the
answers. What one process began another may go on with, if they share their keys."""

import base64
import os

import pytest

from server_process import pillion_bin, run_program

pytestmark = [pytest.mark.asan, pytest.mark.tls]

ABLE = {"sampling": {}, "elicitation": {"form": {}, "url": {}}, "roots": {}}
PREFIX = "test_input_required_result_"
SAMPLED = {"role": "assistant", "model": "test-model", "content": {"type": "text", "text": "Hi"}}
ROOTS = {"roots": [{"uri": "file:///home/ada"}]}


def accepted(**content):
    return {"action": "accept", "content": content}


def called(client, name, responses=None, state=None, capabilities=ABLE):
    """The Reply of one round."""
    params = {"name": PREFIX + name, "arguments": {}}
    if responses is not None:
        params["inputResponses"] = responses
    if state is not None:
        params["requestState"] = state
    return client.call("tools/call", params, capabilities=capabilities)


def asked(reply):
    result = reply.result
    assert result["resultType"] == "input_required", result
    return result["inputRequests"], result["requestState"]


def text_of(reply):
    assert reply.result["resultType"] == "complete", reply.result
    return reply.result["content"][0]["text"]


def test_a_question_and_its_answer(modern):
    questions, state = asked(called(modern, "elicitation"))
    assert questions == {"user_name": {"method": "elicitation/create", "params": {
        "mode": "form", "message": "What is your name?", "requestedSchema": {
            "type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}}}}
    reply = called(modern, "elicitation", {"user_name": accepted(name="Alice")}, state)
    assert text_of(reply) == "Hello, Alice!"
    declined = called(modern, "elicitation", {"user_name": {"action": "decline"}}, state)
    assert text_of(declined) == "Hello, stranger!"


def test_several_questions_in_one_round(modern):
    questions, state = asked(called(modern, "multiple_inputs"))
    assert {key: one["method"] for key, one in questions.items()} == {
        "user_name": "elicitation/create", "greeting": "sampling/createMessage",
        "client_roots": "roots/list"}
    rest, state = asked(called(modern, "multiple_inputs", {"greeting": SAMPLED}, state))
    assert sorted(rest) == ["client_roots", "user_name"]
    answers = {"user_name": accepted(name="Bo"), "client_roots": ROOTS, "else": 1}
    assert text_of(called(modern, "multiple_inputs", answers, state)) == "Hi Bo, 1 roots"


def test_only_what_the_client_declares_is_asked(modern):
    questions, _ = asked(called(modern, "capabilities", capabilities={"sampling": {}}))
    assert [one["method"] for one in questions.values()] == ["sampling/createMessage"]


@pytest.mark.parametrize("name,needed", [
    ("elicitation", {"elicitation": {}}), ("sampling", {"sampling": {}}),
    ("list_roots", {"roots": {}}), ("multiple_inputs", {"elicitation": {}})])
def test_what_it_cannot_do_without_is_named(modern, name, needed):
    reply = called(modern, name, capabilities={})
    assert (reply.status, reply.error.code) == (400, -32021)
    assert reply.error.data["requiredCapabilities"] == needed


def test_prompts_and_pages_name_it_too(modern):
    reply = modern.call("prompts/get", {"name": PREFIX + "prompt"}, capabilities={})
    assert (reply.status, reply.error.code) == (400, -32021)
    assert reply.error.data["requiredCapabilities"] == {"elicitation": {}}
    reply = modern.call("tools/call", {"name": "test_visit_page", "arguments": {}},
                        capabilities={"elicitation": {"form": {}}})
    assert (reply.status, reply.error.code) == (400, -32021)
    assert reply.error.data["requiredCapabilities"] == {"elicitation": {"url": {}}}


@pytest.mark.parametrize("wrong", [{}, {"other": accepted(name="x")}, {"user_name": 12345},
                                   {"user_name": {"action": "accept"}},
                                   {"user_name": accepted(name=7)}], ids=str)
def test_what_is_no_answer_is_asked_for_again(modern, wrong):
    _, state = asked(called(modern, "elicitation"))
    questions, _ = asked(called(modern, "elicitation", wrong, state))
    assert list(questions) == ["user_name"]


@pytest.mark.parametrize("wrong", [None, [], 1, "x"], ids=str)
def test_answers_are_an_object(modern, wrong):
    _, state = asked(called(modern, "elicitation"))
    params = {"name": PREFIX + "elicitation", "arguments": {}, "inputResponses": wrong,
              "requestState": state}
    reply = modern.call("tools/call", params, capabilities=ABLE)
    assert (reply.status, reply.error.code) == (200, -32602)


@pytest.mark.parametrize("spoil", [lambda s: s + "-TAMPERED", lambda s: s[:-1], lambda s: "",
                                   lambda s: "A" * len(s), lambda s: {"state": s}],
                         ids=["longer", "shorter", "empty", "foreign", "object"])
def test_a_state_that_was_changed_is_refused(modern, spoil):
    _, state = asked(called(modern, "tampered_state"))
    reply = called(modern, "tampered_state", {"confirm": accepted(ok=True)}, spoil(state))
    assert reply.error.code == -32602
    assert "state-ok" in text_of(called(modern, "tampered_state",
                                        {"confirm": accepted(ok=True)}, state))


def test_every_cut_and_every_flipped_bit_is_refused(modern):
    _, state = asked(called(modern, "tampered_state"))
    answers = {"confirm": accepted(ok=True)}
    # A bit that makes it no ASCII any more arrives as the character of that number.
    changed = [state[:at] + chr(ord(state[at]) ^ 1 << bit) + state[at + 1:]
               for at in range(len(state)) for bit in (0, at % 8)]
    for bad in [state[:at] for at in range(len(state))] + changed:
        if bad != state:
            reply = called(modern, "tampered_state", answers, bad)
            assert reply.error.code == -32602, bad
    assert "state-ok" in text_of(called(modern, "tampered_state", answers, state))


def test_a_state_of_another_tool_is_refused(modern):
    _, state = asked(called(modern, "tampered_state"))
    reply = called(modern, "request_state", {"confirm": accepted(ok=True)}, state)
    assert reply.error.code == -32602


def test_a_state_of_another_method_is_refused(modern):
    _, state = asked(called(modern, "elicitation"))
    answers = {"user_name": accepted(name="Al"), "user_context": accepted(context="x")}
    for method, params in [("prompts/get", {"name": PREFIX + "prompt"}),
                           ("resources/read", {"uri": "test://static-text"})]:
        reply = modern.call(method, {**params, "inputResponses": answers, "requestState": state},
                            capabilities=ABLE)
        assert reply.error.code == -32602


# ---- what counts once ----

SURE = {"sure": accepted(yes=True)}


def delete(client, path, state=None):
    params = {"name": "test_delete_once", "arguments": {"path": path}}
    if state is not None:
        params |= {"inputResponses": SURE, "requestState": state}
    return client.call("tools/call", params, capabilities=ABLE)


def test_a_confirmation_is_good_for_one_path_and_once(make_client):
    clients = [make_client("E") for _ in range(4)]  # the server has two threads
    _, state = asked(delete(clients[0], "a"))
    for path in ("b", "", "A", "a/"):
        assert delete(clients[0], path, state).error.code == -32602
    assert text_of(delete(clients[1], "a", state)) == "deleted a"
    for client in clients:
        again = delete(client, "a", state)
        assert (again.error.code, again.error.data["reason"]) == (-32602, "used")
    assert asked(delete(clients[0], "a"))


def test_of_many_at_the_same_time_one_counts(make_client):
    clients = [make_client("E") for _ in range(8)]
    _, state = asked(delete(clients[0], "a"))
    params = {"name": "test_delete_once", "arguments": {"path": "a"}, "inputResponses": SURE,
              "requestState": state}
    begun = [(client, *client.begin("tools/call", params, capabilities=ABLE))
             for client in clients]
    replies = [client.read_reply(connection, identifier)
               for client, connection, identifier in begun]
    done = [reply for reply in replies if "result" in reply.message]
    assert len(done) == 1 and text_of(done[0]) == "deleted a"
    assert {reply.error.code for reply in replies if reply not in done} == {-32602}


def test_each_process_remembers_for_itself(start, make_client, tmp_path):
    """As the documentation says: whoever has several leads a client back to the same one."""
    shared = keys(tmp_path, new_key())
    one, two = (make_client("E", of=start("--state-keys", shared)) for _ in range(2))
    _, state = asked(delete(one, "a"))
    assert text_of(delete(one, "a", state)) == "deleted a"
    assert text_of(delete(two, "a", state)) == "deleted a"
    assert [delete(client, "a", state).error.code for client in (one, two)] == [-32602] * 2


def test_prompts_ask_too(modern):
    params = {"name": PREFIX + "prompt"}
    result = modern.request("prompts/get", params, capabilities=ABLE)
    assert result["resultType"] == "input_required"
    params["inputResponses"] = {"user_context": accepted(context="work")}
    params["requestState"] = result["requestState"]
    messages = modern.request("prompts/get", params, capabilities=ABLE)["messages"]
    assert messages[0]["content"]["text"] == "work"


def test_over_a_pipe(stdio):
    pipe = stdio(rev="E", capabilities=ABLE)
    params = {"name": PREFIX + "elicitation", "arguments": {}}
    reply, _ = pipe.call("tools/call", params, capabilities=ABLE)
    params["requestState"] = reply["result"]["requestState"]
    params["inputResponses"] = {"user_name": accepted(name="Cy")}
    reply, _ = pipe.call("tools/call", params, capabilities=ABLE)
    assert reply["result"]["content"][0]["text"] == "Hello, Cy!"


# ---- keys ----

def keys(folder, *lines):
    path = folder / "keys"
    path.write_text("\n".join(lines) + "\n")
    return path


def new_key():
    return base64.b64encode(os.urandom(32)).decode()


def test_two_servers_serve_alternate_rounds(start, make_client, tmp_path):
    shared = keys(tmp_path, "# of both", new_key())
    one, two = (make_client("E", of=start("--state-keys", shared)) for _ in range(2))
    questions, state = asked(called(one, "multi_round"))
    assert list(questions) == ["step1"]
    questions, later = asked(called(two, "multi_round", {"step1": accepted(name="Di")}, state))
    assert list(questions) == ["step2"] and later != state
    reply = called(one, "multi_round", {"step2": accepted(color="red")}, later)
    assert text_of(reply) == "Di likes red"


def test_they_do_for_many_rounds(start, make_client, tmp_path):
    shared = keys(tmp_path, new_key())
    clients = [make_client("E", of=start("--state-keys", shared)) for _ in range(2)]
    rounds = 10
    params = {"name": "test_many_rounds", "arguments": {"n": rounds}}
    states = set()
    for number in range(1, rounds + 1):
        reply = clients[number % 2].call("tools/call", params, capabilities=ABLE)
        [(key, question)] = asked(reply)[0].items()
        assert question["params"]["message"] == f"Number {number}?"
        params |= {"requestState": asked(reply)[1],
                   "inputResponses": {key: accepted(text=str(number))}}
        states.add(params["requestState"])
    reply = clients[1].call("tools/call", params, capabilities=ABLE)
    assert text_of(reply) == "begun 1 2 3 4 5 6 7 8 9 10" and len(states) == rounds


def test_without_common_keys_they_do_not(start, make_client, tmp_path):
    one = make_client("E", of=start())
    two = make_client("E", of=start("--state-keys", keys(tmp_path, new_key())))
    _, state = asked(called(one, "multi_round"))
    reply = called(two, "multi_round", {"step1": accepted(name="Di")}, state)
    assert reply.error.code == -32602


def test_keys_rotate(start, make_client, tmp_path):
    old, new = new_key(), new_key()
    before = make_client("E", of=start("--state-keys", keys(tmp_path, old)))
    _, state = asked(called(before, "multi_round"))
    during = make_client("E", of=start("--state-keys", keys(tmp_path, new, old)))
    questions, _ = asked(called(during, "multi_round", {"step1": accepted(name="Di")}, state))
    assert list(questions) == ["step2"]


@pytest.mark.parametrize("content,said", [
    ("", "no key"), ("# nothing\n", "no key"), ("tooshort\n", "line 1 is no key")])
def test_bad_keys_are_refused_at_start(tmp_path, content, said):
    path = tmp_path / "keys"
    path.write_text(content)
    done = run_program(pillion_bin(), "serve", "--port", 0, "--state-keys", path,
                       text=True)
    assert done.returncode == 2 and said in done.stderr
    assert "tooshort" not in done.stderr
