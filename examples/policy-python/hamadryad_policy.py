"""A scheduling policy of Hamadryad in Python: everything but the deciding.

    class Mine:
        def check(self, config): ...          # a list of (line, message): what is wrong
        def start(self, config, events, environment): ...  # returns (name, version)
        def assign(self, round, events, offers, answer): ...
        def explain(self, job): ...           # (reason, detail, place), or None: not known
        def terminate(self): ...

    hamadryad_policy.serve(Mine)

Messages hold columns: one packed list for each attribute, not one message for each
row. This module turns them into rows, which are dicts, with strings in the place of
indices into the message's table. docs/PLUGINS.md tells what stands on the wire.

It needs the stubs that grpc_tools.protoc makes of the project's two .proto files.
"""

import base64
import collections
import datetime
import logging
import os
import sys
import threading
from concurrent import futures

import grpc
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from sdk.scheduler.schedwire import scheduler_pb2 as wire
from sdk.scheduler.schedwire.rpc import policy_pb2 as rpc
from sdk.scheduler.schedwire.rpc import policy_pb2_grpc

# The version of the service and its messages, as the manager knows it.
PROTOCOL_VERSION = 2

# ---- columns and rows ----

# Columns of this type are indices into the table of strings, but for these.
STRING = wire.Strings.DESCRIPTOR.fields_by_name["length"].type  # uint32
NOT_STRINGS = {"rows", "shape", "shape_stage", "node", "stage", "abilities"}


def table(strings):
    """The strings of a message: 0 is the empty one."""
    out, at = [""], 0
    for n in strings.length:
        out.append(strings.text[at : at + n].decode("utf-8", "replace"))
        at += n
    return out


def column(message, field, n, strings):
    """The values of a column. A manager that is older than the stubs may leave out a whole one."""
    values = getattr(message, field.name)
    if field.type == STRING and field.name not in NOT_STRINGS:
        return [strings[i] for i in values or [0] * n]
    return values or [b"" if field.type == field.TYPE_BYTES else 0] * n


def cut(rows, counts, n):
    """Gives each of n rows its own part of a list. Counts that are left out are all 0."""
    out, at = [], 0
    for k in counts or [0] * n:
        out.append(rows[at : at + k])
        at += k
    return out


def rows(message, n, strings, only=lambda name: True):
    """The n rows of a message of columns. In one that is left out, all is 0 or empty."""
    out = [{} for _ in range(n)]
    for field in message.DESCRIPTOR.fields:
        if field.name == "rows" or not only(field.name):
            continue
        if field.message_type is None:
            values = column(message, field, n, strings)
        elif field.is_repeated:
            values = getattr(message, field.name)  # whole messages, such as Config
        else:
            values = nested(getattr(message, field.name), n, strings)
        for row, value in zip(out, values):
            row[field.name] = value
    return out


def nested(message, n, strings):
    """What each of n rows has of a message below: the column rows says how much."""
    if isinstance(message, wire.Groups):
        return cut(groups(message, strings), message.rows, n)
    if "rows" not in message.DESCRIPTOR.fields_by_name:
        return rows(message, n, strings)
    inner = rows(message, sum(message.rows), strings)
    if isinstance(message, wire.Ids):
        inner = [r["id"] for r in inner]
    return cut(inner, message.rows, n)


def groups(message, strings):
    """Groups name their shape, and places their host and rack, by an index."""
    shapes = rows(message, len(message.shape_kind), strings, lambda name: name.startswith("shape_"))
    shapes = [{name.removeprefix("shape_"): v for name, v in s.items()} for s in shapes]
    p = message.places
    nodes = rows(p, len(p.host), strings, lambda name: name in ("host", "rack"))
    places = [{**nodes[k], "bytes": b} for k, b in zip(p.node, p.bytes)]
    out = [{**shapes[k], "input_bytes": b} for k, b in zip(message.shape, message.input_bytes)]
    for g, own in zip(out, cut(places, p.rows, len(out))):
        g["places"] = own
    return out


skipped = collections.Counter()  # events by kind that a later manager tells and the stubs do not know


def event_rows(message, strings):
    """Events in order, as (kind, time, row); the n-th of a kind is the n-th of its rows.
    What the stubs do not know is left out: its time counts."""
    names = {number: name.removeprefix("EVENT_KIND_").lower() for name, number in wire.EventKind.items()}
    of = {}
    for k, n in collections.Counter(message.kind).items():
        if k not in names:
            if k not in skipped:
                logging.warning("the manager tells events of kind %d, which are skipped: make the stubs anew", k)
            skipped[k] += n
        elif not hasattr(message, names[k]):
            of[k] = iter([{}] * n)  # time_passed has nothing but its time
        elif names[k] == "outcome":  # the column preempt has rows for some outcomes only
            of[k] = iter(rows(message.outcome, n, strings, lambda name: name != "preempt"))
        else:
            of[k] = iter(rows(getattr(message, names[k]), n, strings))
    out, at = [], 0
    for k, passed in zip(message.kind, message.at):
        at += passed
        if k in names:
            out.append((names[k], at, next(of[k])))
    return out


class Table:
    """Collects the strings of an answer."""

    def __init__(self):
        self.index, self.message = {"": 0}, wire.Strings()

    def __call__(self, s):
        if s not in self.index:
            text = s.encode()
            self.message.text += text
            self.message.length.append(len(text))
            self.index[s] = len(self.index)
        return self.index[s]


class Answer:
    """The decisions of one round. A column that belongs to a list must have as many
    rows as the others of it."""

    def __init__(self):
        self.message, self.strings = wire.Decisions(), Table()

    def launch(self, bundle, launchers):
        m = self.message.launch
        m.bundle.append(bundle)
        m.launchers.rows.append(len(launchers))
        m.launchers.id.extend(launchers)

    def wait(self, job, reason, detail):
        m = self.message.waiting
        m.job.append(job)
        m.reason.append(reason)
        m.detail.append(self.strings(detail))

    def verdict(self, version, config, problems):
        m = self.message.settings
        m.version.append(version)
        add_problems(m.problems, config, problems, self.strings)

    def done(self):
        self.message.strings.CopyFrom(self.strings.message)
        return self.message


def add_problems(message, config, problems, strings):
    """Adds a row of problems, with the file and the line of it that the person knows."""
    file = table(config.strings)[config.file]
    message.rows.append(len(problems))
    for line, text in problems:
        message.file.append(strings(file))
        message.line.append(line + max(config.line - 1, 0))
        message.message.append(strings(text))


def problem_list(config, problems):
    out, strings = wire.ProblemList(), Table()
    add_problems(out.problems, config, problems, strings)
    out.strings.CopyFrom(strings.message)
    return out


# ---- the service ----


class Service(policy_pb2_grpc.TaskSchedulerServicer):
    """One policy. The manager makes one call at a time, but for Watch."""

    def __init__(self, make):
        self.make, self.policy, self.ended = make, None, threading.Event()

    def Check(self, config, context):
        return problem_list(config, self.make().check(config.text))

    def Start(self, parts, context):
        config, environment, events = None, None, []
        for part in parts:  # config and environment in the first, a page of the snapshot in each
            if config is None:
                config, environment = part.config, part.environment
            events += event_rows(part.page.events, table(part.page.strings))
        policy = self.make()
        problems = policy.check(config.text)
        if problems:
            return rpc.StartReply(problems=problem_list(config, problems))
        name, version = policy.start(config.text, events, environment)
        self.policy, strings = policy, Table()
        d = wire.Description(name=strings(name), version=strings(version))
        d.strings.CopyFrom(strings.message)
        return rpc.StartReply(description=d)

    def AssignTasks(self, round, context):
        strings, answer = table(round.strings), Answer()
        offers = rows(round.offers, len(round.offers.launcher), strings)
        try:
            self.policy.assign(round, event_rows(round.events, strings), offers, answer)
        except Exception as e:  # what the policy holds is not to be trusted any more
            logging.exception("round %d", round.number)
            context.abort(grpc.StatusCode.INTERNAL, f"the policy failed in round {round.number}: {e!r}")
        return answer.done()

    def Rounds(self, rounds, context):
        for round in rounds:  # one after another on one stream, which costs less than a call for each
            yield self.AssignTasks(round, context)

    def Explain(self, asked, context):
        found = self.policy.explain(asked.job)
        if found is None:
            context.abort(grpc.StatusCode.NOT_FOUND, f"job {asked.job} is not known")
        reason, detail, place = found
        strings = Table()
        out = wire.Explanation(reason=reason, detail=strings(detail), place=place)
        out.strings.CopyFrom(strings.message)
        return out

    def Status(self, asked, context):
        out, strings = wire.Status(), Table()
        for kind, n in sorted(skipped.items()):
            out.facts.name.append(strings(f"skipped: events of kind {kind}"))
            out.facts.value.append(strings(str(n)))
        out.facts.rows.append(len(skipped))
        out.strings.CopyFrom(strings.message)
        return out

    def Terminate(self, asked, context):
        if self.policy:
            self.policy.terminate()
        self.ended.set()
        return rpc.Terminated()

    def Watch(self, asked, context):
        """Would give the notes of a shell; this plug-in has none."""
        context.add_callback(self.ended.set)  # the host is gone
        self.ended.wait()
        return iter(())


# ---- handshake ----


def certificate():
    """A key and a certificate for this life of the plug-in, on curve P-256: the TLS of
    gRPC outside Go knows P-256 and P-384."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.timezone.utc)
    cert = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=1))
        .not_valid_after(now + datetime.timedelta(days=3650))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(key, hashes.SHA256())
    )
    return key, cert


def serve(make):
    """Serves the policy that make() makes until the manager ends it: a plug-in's main."""
    if os.environ.get("HAMADRYAD_POLICY_PLUGIN") != "scheduling-policy":
        print(f"{sys.argv[0]} is a scheduling policy of Hamadryad: a plug-in that the manager starts.\n"
              f"Try it with: hamadryad policy check {sys.argv[0]}", file=sys.stderr)
        sys.exit(2)
    logging.basicConfig(stream=sys.stderr, format="[%(levelname)s] %(message)s", level=logging.INFO)
    service = Service(make)
    server = grpc.server(
        futures.ThreadPoolExecutor(max_workers=4),  # two of them are in Watch and Rounds
        options=[("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)],
    )
    policy_pb2_grpc.add_TaskSchedulerServicer_to_server(service, server)
    key, cert = certificate()
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path = os.path.join(os.environ["PLUGIN_UNIX_SOCKET_DIR"], "policy")
    server.add_secure_port(
        "unix:" + path,
        grpc.ssl_server_credentials(
            [(pem, cert.public_bytes(serialization.Encoding.PEM))],
            root_certificates=os.environ["PLUGIN_CLIENT_CERT"].encode(),
            require_client_auth=True,
        ),
    )
    server.start()
    der = base64.b64encode(cert.public_bytes(serialization.Encoding.DER)).decode().rstrip("=")
    print(f"1|{PROTOCOL_VERSION}|unix|{path}|grpc|{der}", flush=True)
    service.ended.wait()
    server.stop(grace=1).wait()
