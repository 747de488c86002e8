// The handshake of go-plugin and the gRPC service: all but the deciding.
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import * as grpc from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { generate } from "selfsigned";
import { type Message, problems, Strings, table } from "./columns.js";

const protocolVersion = 2; // of the service, in the handshake

// Policy is what the manager asks a policy. One object lives from a start to the end.
export interface Policy {
  events(m: Message, strings: string[], changed: (version: number, config: Message) => void): void;
  assign(round: Message): Message;
  explain(job: number): { reason: number; detail: string } | undefined;
}

// load reads the project's .proto files; PROTO_PATH says where they are if this folder was copied.
function load(): Message {
  const root = process.env["PROTO_PATH"] ?? join(fileURLToPath(import.meta.url), "../../../..");
  const rules = { keepCase: true, longs: Number, enums: Number, defaults: true, arrays: true, includeDirs: [root] };
  return grpc.loadPackageDefinition(loadSync("sdk/scheduler/schedwire/rpc/policy.proto", rules));
}

export async function serve(name: string, version: string, make: { new (): Policy; check(text: Buffer): [number, string][] }) {
  if (process.env["HAMADRYAD_POLICY_PLUGIN"] !== "scheduling-policy") {
    console.error("This is a scheduling policy of Hamadryad: a plug-in that the manager starts. Try it with: hamadryad policy check PATH");
    process.exit(2);
  }
  let policy = new make();
  const listed = (config: Message) => {
    const strings = new Strings(), list = problems(config, make.check(config.text), strings);
    return { problems: list, strings: strings.message() };
  };
  const server = new grpc.Server({ "grpc.max_receive_message_length": -1, "grpc.max_send_message_length": -1 });
  server.addService(load().hamadryad.scheduler.v1.TaskScheduler.service, {
    check: (call: Message, done: Message) => done(null, listed(call.request)),
    // The configuration is in the first message, and a page of the snapshot in each.
    start(call: Message, done: Message) {
      let config: Message;
      policy = new make();
      call.on("data", (part: Message) => {
        config ??= part.config;
        policy.events(part.page?.events, table(part.page?.strings), () => {});
      });
      call.on("end", () => {
        const wrong = listed(config), strings = new Strings();
        if (wrong.problems.line.length > 0) return done(null, { problems: wrong });
        const description = { name: strings.of(name), version: strings.of(version), strings: strings.message() };
        done(null, { description });
      });
    },
    assignTasks(call: Message, done: Message) {
      try {
        done(null, policy.assign(call.request));
      } catch (e) {
        done({ code: grpc.status.INTERNAL, details: `the policy failed in round ${call.request.number}: ${e}` });
      }
    },
    explain(call: Message, done: Message) {
      const found = policy.explain(call.request.job), strings = new Strings();
      if (!found) return done({ code: grpc.status.NOT_FOUND, details: `job ${call.request.job} is not known` });
      const detail = strings.of(found.detail);
      done(null, { reason: found.reason, detail, strings: strings.message() });
    },
    status: (_: Message, done: Message) => done(null, {}),
    // There are no notes: the call lasts as long as the plug-in, which ends when the host is gone.
    watch(call: Message) {
      call.on("cancelled", () => process.exit(0));
    },
    terminate(_: Message, done: Message) {
      done(null, {});
      setTimeout(() => process.exit(0), 50); // when the answer is out
    },
  });
  // The certificate is for this life of the plug-in alone. The manager's is the only one that is trusted.
  const own = await generate([{ name: "commonName", value: "localhost" }], { keyType: "ec", curve: "P-256", algorithm: "sha256" });
  const keys = [{ private_key: Buffer.from(own.private), cert_chain: Buffer.from(own.cert) }];
  const credentials = grpc.ServerCredentials.createSsl(Buffer.from(process.env["PLUGIN_CLIENT_CERT"]!), keys, true);
  const path = join(process.env["PLUGIN_UNIX_SOCKET_DIR"]!, "policy");
  server.bindAsync(`unix:${path}`, credentials, (err) => {
    if (err) throw err;
    const der = own.cert.replace(/-----[A-Z ]+-----|\s|=/g, "");
    process.stdout.write(`1|${protocolVersion}|unix|${path}|grpc|${der}\n`);
  });
}
