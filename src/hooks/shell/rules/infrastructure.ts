// What takes down containers, clusters, clouds and published things.

import { optionsOf } from "../command.ts";
import { isOpen } from "../fields.ts";
import { type OptionTable, readOptions } from "../read-options.ts";
import type { Rule } from "./rule.ts";

/** Options of these programs that take the next word, before their verb or behind it. */
const GLOBAL: OptionTable = {
  values: "nCHcRswl",
  longValues:
    "region profile output query endpoint-url ca-bundle cli-read-timeout cli-connect-timeout project account configuration format verbosity impersonate-service-account billing-project subscription resource-group name namespace context cluster user kubeconfig server token as as-group kube-context host config log-level tlscacert tlscert tlskey repo stack cwd color env-file file project-name project-directory profile ansi parallel registry prefix workspace filter dir app remote hostname chdir",
};

/** The words without options, joined: `system prune`. Once as if no option took the next word, once as if those that mostly do so did. */
function verbsOf(args: readonly string[]): readonly string[] {
  const taken = readOptions(args, GLOBAL, { isPermuted: true }).operands;
  return [...new Set([optionsOf(args).rest.join(" "), taken.join(" ")])];
}

const says = (args: readonly string[], pattern: RegExp): boolean =>
  verbsOf(args).some((verbs) => pattern.test(verbs));

const docker: Rule = ({ args }) => {
  if (args.includes("exec") || args.includes("--help")) return undefined; // what runs inside is judged by itself
  if (says(args, /^(?:system|volume|image|container|network|builder|buildx|pod|machine) prune\b/))
    return "removes all that is not in use";
  if (says(args, /^volume (?:rm|remove)\b/)) return "removes volumes with their data";
  if (says(args, /^(?:stack|swarm|machine|context) (?:rm|remove|down|leave)\b/) && args.length > 1)
    return "takes a deployment down";
  const isComposeDown = args.includes("down") && (args[0] === "compose" || !args.includes("compose"));
  const { short, long } = optionsOf(args);
  if (
    isComposeDown &&
    (/v/.test(short.replace(/^f/, "")) || long.includes("--volumes") || args.includes("--rmi"))
  )
    return "takes services down with their volumes";
  const isAll = args.some((arg) => isOpen(arg));
  if (says(args, /^(?:rm|rmi|kill|container rm|image rm|container kill)\b/) && isAll)
    return "removes whatever another command lists";
  // The host's root inside a container is the host's root.
  if (
    says(args, /^(?:run|create)\b/) &&
    args.some((arg) => /^(?:-v=?|--volume=)?\/:\//.test(arg) || /\bsource=\/,/.test(arg))
  )
    return "gives a container the whole file system";
  return undefined;
};

const KUBE_KINDS =
  /^(?:ns|namespaces?|all|pv|pvc|persistentvolume(?:claim)?s?|deploy(?:ment)?s?|sts|statefulsets?|ds|daemonsets?|crds?|customresourcedefinitions?|no|nodes?|secrets?|svc|services?|ing|ingress(?:es)?|sa|clusterrole(?:binding)?s?|cm|configmaps?)(?:[/.,]|$)/;

const kubectl: Rule = ({ args }) => {
  if (args.some((arg) => /^--dry-run(?:=(?:client|server))?$/.test(arg)) || args.includes("exec"))
    return undefined;
  const at = args.findIndex((arg) => arg === "delete" || arg === "drain" || arg === "replace");
  if (at === -1) return undefined;
  const rest = args.slice(at + 1);
  if (args[at] === "drain") return "takes the work off a node";
  if (args[at] === "replace")
    return rest.includes("--force") ? "deletes a resource and makes it anew" : undefined;
  const isMany = rest.some(
    (arg) =>
      /^(?:--all|-A|--all-namespaces|-f|-k|--filename|--selector|-l)(?:=|$)/.test(arg) ||
      /^-[fkl]./.test(arg),
  );
  const kind = rest.find((arg) => !arg.startsWith("-")) ?? "";
  return isMany || KUBE_KINDS.test(kind.toLowerCase()) || isOpen(kind)
    ? "deletes resources of a cluster"
    : undefined;
};

const terraform: Rule = ({ args }) => {
  if (says(args, /\bdestroy\b/) || args.some((arg) => /^--?destroy$/.test(arg))) {
    // A plan to destroy destroys nothing.
    return says(args, /^plan\b/) ? undefined : "destroys infrastructure";
  }
  if (says(args, /^(?:run-all|run --all) destroy/)) return "destroys infrastructure";
  return says(args, /^(?:state rm|workspace delete|force-unlock)\b/)
    ? "forgets infrastructure that runs"
    : undefined;
};

const byVerb =
  (pattern: RegExp, what: string): Rule =>
  ({ args }) => {
    if (args.some((arg) => /^--?(?:dry-?run|help)$/.test(arg))) return undefined;
    return says(args, pattern) ? what : undefined;
  };

const CLOUD = "deletes resources of a cloud";
const PUBLISHED = "takes back what was published";

const aws: Rule = ({ args }) => {
  if (args.includes("--dryrun") || args.includes("--dry-run") || args.includes("help")) return undefined;
  if (says(args, /^s3 (?:rb|rm)\b/))
    return args.includes("--recursive") || says(args, /^s3 rb/) ? CLOUD : undefined;
  if (says(args, /^s3 sync\b/)) return args.includes("--delete") ? CLOUD : undefined;
  return says(args, /^\S+ (?:delete|terminate|deregister|destroy|purge|batch-delete|schedule-key-deletion)\b/)
    ? CLOUD
    : undefined;
};

const ghVerbs = byVerb(
  /^(?:repo delete|repo archive|release delete|secret delete|gist delete|variable delete)\b/,
  PUBLISHED,
);

export const INFRASTRUCTURE: Readonly<Record<string, Rule>> = {
  docker,
  podman: docker,
  nerdctl: docker,
  "docker-compose": docker,
  kubectl,
  oc: kubectl,
  k: kubectl,
  helm: byVerb(/^(?:uninstall|delete|del|un)\b/, "takes a release down"),
  terraform,
  tofu: terraform,
  terragrunt: terraform,
  pulumi: byVerb(/^(?:destroy|down|stack rm|state delete)\b/, "destroys infrastructure"),
  cdk: byVerb(/^destroy\b/, "destroys infrastructure"),
  sst: byVerb(/^remove\b/, "destroys infrastructure"),
  serverless: byVerb(/^remove\b/, "destroys infrastructure"),
  vagrant: byVerb(/^destroy\b/, "destroys a machine"),
  virsh: byVerb(/^(?:undefine|destroy|vol-delete)\b/, "destroys a machine"),
  aws,
  gcloud: byVerb(/\b(?:delete|destroy)\b/, CLOUD),
  gsutil: byVerb(/\b(?:rm|rb)\b/, CLOUD),
  az: byVerb(/\b(?:delete|purge)\b/, CLOUD),
  doctl: byVerb(/\b(?:delete|rm|destroy)\b/, CLOUD),
  heroku: byVerb(/\b(?:apps:destroy|pg:reset|addons:destroy|destroy)\b/, CLOUD),
  fly: byVerb(/\bdestroy\b/, CLOUD),
  flyctl: byVerb(/\bdestroy\b/, CLOUD),
  vercel: byVerb(/^(?:rm|remove)\b/, CLOUD),
  wrangler: byVerb(/\bdelete\b/, CLOUD),
  firebase: byVerb(/\b(?:delete|hosting:disable|projects:delete|firestore:delete|database:remove)\b/, CLOUD),
  gh: (command, facts) =>
    command.args[0] === "api" && /-XDELETE|(?:-X|--method)[ =]DELETE/i.test(command.args.join(" "))
      ? PUBLISHED
      : ghVerbs(command, facts),
  glab: byVerb(/^(?:repo delete|release delete)\b/, PUBLISHED),
  npm: byVerb(/^(?:unp(?:u(?:b(?:l(?:i(?:s(?:h)?)?)?)?)?)?|deprecate|owner rm)\b/, PUBLISHED),
  pnpm: byVerb(/^unpublish\b/, PUBLISHED),
  cargo: byVerb(/^yank\b/, PUBLISHED),
  gem: byVerb(/^yank\b/, PUBLISHED),
};
