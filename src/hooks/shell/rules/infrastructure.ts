// What takes down containers, clusters, clouds and published things.

import { optionsOf } from "../command.ts";
import { isOpen } from "../fields.ts";
import type { Rule } from "./rule.ts";

/** The words without options, joined: `system prune`. */
function verbsOf(args: readonly string[]): string {
  return optionsOf(args).rest.join(" ");
}

const docker: Rule = ({ args }) => {
  const verbs = verbsOf(args);
  if (args.includes("exec") || args.includes("--help")) return undefined; // what runs inside is judged by itself
  if (/^(?:system|volume|image|container|network|builder|buildx|pod|machine) prune\b/.test(verbs))
    return "removes all that is not in use";
  if (/^volume (?:rm|remove)\b/.test(verbs)) return "removes volumes with their data";
  if (/^(?:stack|swarm|machine|context) (?:rm|remove|down|leave)\b/.test(verbs) && args.length > 1)
    return "takes a deployment down";
  const isComposeDown = args.includes("down") && (args[0] === "compose" || !args.includes("compose"));
  const { short, long } = optionsOf(args);
  if (
    isComposeDown &&
    (/v/.test(short.replace(/^f/, "")) || long.includes("--volumes") || args.includes("--rmi"))
  )
    return "takes services down with their volumes";
  const isAll = args.some((arg) => isOpen(arg));
  if (
    /^(?:rm|rmi|kill|stop|container rm|image rm|container kill)\b/.test(verbs) &&
    isAll &&
    /rm|kill/.test(verbs)
  )
    return "removes whatever another command lists";
  // The host's root inside a container is the host's root.
  if (
    /^(?:run|create)\b/.test(verbs) &&
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
  const verbs = verbsOf(args);
  if (/\bdestroy\b/.test(verbs) || args.some((arg) => /^--?destroy$/.test(arg))) {
    // A plan to destroy destroys nothing.
    return /^plan\b/.test(verbs) ? undefined : "destroys infrastructure";
  }
  if (/^(?:run-all|run --all) destroy/.test(verbs)) return "destroys infrastructure";
  return /^(?:state rm|workspace delete|force-unlock)\b/.test(verbs)
    ? "forgets infrastructure that runs"
    : undefined;
};

const byVerb =
  (pattern: RegExp, what: string): Rule =>
  ({ args }) => {
    if (args.some((arg) => /^--?(?:dry-?run|help)$/.test(arg))) return undefined;
    return pattern.test(verbsOf(args)) ? what : undefined;
  };

const CLOUD = "deletes resources of a cloud";
const PUBLISHED = "takes back what was published";

const aws: Rule = ({ args }) => {
  if (args.includes("--dryrun") || args.includes("--dry-run") || args.includes("help")) return undefined;
  const verbs = verbsOf(args);
  if (/^s3 (?:rb|rm)\b/.test(verbs))
    return args.includes("--recursive") || /^s3 rb/.test(verbs) ? CLOUD : undefined;
  if (/^s3 sync\b/.test(verbs)) return args.includes("--delete") ? CLOUD : undefined;
  return /^\S+ (?:delete|terminate|deregister|destroy|purge|batch-delete|schedule-key-deletion)\b/.test(verbs)
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
  npm: byVerb(/^(?:unpublish|deprecate|owner rm)\b/, PUBLISHED),
  pnpm: byVerb(/^unpublish\b/, PUBLISHED),
  cargo: byVerb(/^yank\b/, PUBLISHED),
  gem: byVerb(/^yank\b/, PUBLISHED),
};
