// Programs that write to what their words name, and how their words are read. A table: nothing is read here.

import type { OptionTable } from "./read-options.ts";

export interface Writer extends OptionTable {
  /** Which of the words that are no options are written to. `url`: their last part. @default none */
  readonly words?: "all" | "first" | "behind-first" | "last" | "url";
  /** Options whose value is written to; blank-separated. */
  readonly out?: string;
  /** Options whose value is the folder for what is written. */
  readonly into?: string;
  /** Long options with one dash whose value is written to. */
  readonly dashed?: string;
  /** With one of these nothing is written. */
  readonly never?: string;
  /** Words are written to with one of these alone. */
  readonly onlyIf?: string;
  /** `words: "url"` with one of these alone. */
  readonly urlIf?: string;
  /** Folders are taken with all that is in them. */
  readonly isWhole?: boolean;
  readonly wholeIf?: string;
}

const REMOVE: Writer = { words: "all", isWhole: true };
const ALL: Writer = { words: "all" };
const OUT: Writer = {
  values: "o",
  longValues: "output out outfile",
  out: "o output out outfile",
  dashed: "out",
};
const MODE: Writer = {
  words: "behind-first",
  flags: "RrcfvhHLP",
  longFlags: "recursive",
  wholeIf: "R recursive",
};
const PACK: Writer = {
  words: "all",
  flags: "cdfhkKlLnNqrRtvz123456789",
  values: "SoTp",
  longValues: "suffix",
  out: "o",
  never: "c t l stdout to-stdout test list",
};
const IN_PLACE: Writer = {
  words: "all",
  flags: "w",
  onlyIf: "w write fix unsafe fix-dry-run",
  longFlags: "write fix unsafe",
};

export const WRITERS: Readonly<Record<string, Writer>> = {
  rm: REMOVE,
  rimraf: REMOVE,
  "del-cli": REMOVE,
  trash: REMOVE,
  "trash-put": REMOVE,
  srm: REMOVE,
  shred: { ...REMOVE, values: "ns", longValues: "iterations size random-source" },
  unlink: ALL,
  rmdir: ALL,
  touch: { words: "all", values: "drt", longValues: "date reference time" },
  tee: ALL,
  sponge: ALL,
  truncate: { words: "all", values: "sr", longValues: "size reference" },
  mkdir: { words: "all", values: "mZ", longValues: "mode" },
  mkfifo: { words: "all", values: "m", longValues: "mode" },
  mknod: { words: "first", values: "m", longValues: "mode" },
  chattr: ALL,
  vim: { words: "all", values: "cSsuUiwWT", out: "w W" },
  vi: { words: "all", values: "cSsuUiwW" },
  nvim: { words: "all", values: "cSsuiwW" },
  ex: { words: "all", values: "c" },
  ed: { words: "all", values: "p" },
  nano: ALL,
  pico: ALL,
  emacs: ALL,
  patch: {
    words: "first",
    values: "BDdFgioprVYz",
    longValues: "directory input output reject-file strip",
    out: "o output r reject-file",
    into: "d directory",
    never: "dry-run",
  },
  gzip: PACK,
  gunzip: PACK,
  bzip2: PACK,
  bunzip2: PACK,
  xz: PACK,
  unxz: PACK,
  zstd: PACK,
  unzstd: PACK,
  dos2unix: ALL,
  unix2dos: ALL,
  strip: ALL,
  split: { words: "behind-first", values: "abClnt", longValues: "bytes lines number suffix-length" },
  csplit: { values: "fbn", longValues: "prefix suffix-format digits", out: "f prefix" },
  cp: {
    words: "last",
    flags: "abdfHiLlnPpRrsuvxZT",
    values: "tS",
    longValues: "target-directory suffix",
    into: "t target-directory",
  },
  mv: {
    words: "last",
    flags: "bfinuvTZ",
    values: "tS",
    longValues: "target-directory suffix",
    into: "t target-directory",
  },
  ln: {
    words: "last",
    flags: "bdFfiLnPrsTv",
    values: "tS",
    longValues: "target-directory suffix",
    into: "t target-directory",
  },
  install: {
    words: "last",
    flags: "bcCdDpsTvZ",
    values: "tSgmo",
    longValues: "target-directory suffix group mode owner strip-program",
    into: "t target-directory",
  },
  link: { words: "last" },
  ditto: { words: "last" },
  rsync: {
    words: "last",
    values: "efBTM",
    longValues: "rsh filter exclude include exclude-from include-from files-from",
    wholeIf: "del delete delete-before delete-during delete-delay delete-after delete-excluded",
  },
  scp: { words: "last", values: "cDFiJloPSX" },
  mount: { words: "last", values: "tLoOU", longValues: "types options" },
  umount: { words: "all", values: "tO" },
  chmod: MODE,
  chown: MODE,
  chgrp: MODE,
  setfacl: { words: "all", values: "mxMX", flags: "bkRn", wholeIf: "R recursive" },
  sed: {
    words: "all",
    flags: "nrEszu",
    values: "efl",
    longFlags: "in-place quiet silent regexp-extended",
    longValues: "expression file line-length",
    onlyIf: "i in-place",
  },
  gsed: {
    words: "all",
    flags: "nrEszu",
    values: "efl",
    longFlags: "in-place",
    longValues: "expression file",
    onlyIf: "i in-place",
  },
  perl: { words: "all", flags: "anlpswWtTuUX0", values: "eEIMm", onlyIf: "i" },
  ruby: { words: "all", flags: "anlpswW0", values: "eIrE", onlyIf: "i" },
  yq: { words: "all", values: "op", onlyIf: "i inplace in-place" },
  prettier: IN_PLACE,
  eslint: IN_PLACE,
  biome: IN_PLACE,
  gofmt: { words: "all", values: "r" },
  rustfmt: ALL,
  black: { words: "all", values: "lt", never: "check diff" },
  ruff: { words: "all", never: "diff" },
  autopep8: ALL,
  isort: ALL,
  rename: { words: "behind-first", flags: "fnvs" },
  mmv: ALL,
  sort: {
    flags: "bdfgiMhnRrVcCmsuz",
    values: "koStT",
    longValues: "output key field-separator buffer-size temporary-directory parallel",
    out: "o output",
  },
  uniq: { words: "behind-first", flags: "cdDiuz", values: "fsw" },
  gcc: OUT,
  cc: OUT,
  clang: OUT,
  "g++": OUT,
  jq: OUT,
  tsc: { longValues: "outFile outDir", out: "outFile outDir" },
  openssl: { dashed: "out keyout CAserial writerand" },
  gpg: { values: "oru", longValues: "output recipient local-user homedir", out: "o output" },
  age: { flags: "depa", values: "oriR", longValues: "output recipient identity", out: "o output" },
  iconv: { values: "fto", longValues: "output", out: "o output" },
  pandoc: { values: "ofto", longValues: "output", out: "o output" },
  base64: { flags: "dDi", values: "ow", longValues: "output", out: "o output" },
  protoc: {},
  ffmpeg: { words: "last" },
  convert: { words: "last" },
  "ssh-keygen": {
    flags: "qiAcghHklopuUvXx",
    values: "fCNtbPOasImnDEFGJKLMQRSTVWYwZz",
    out: "f",
    never: "l y B e F",
  },
  curl: {
    flags: "012346aBfgGiIjJkLlMnNOpqRsSvVZ#",
    values: "AbCcdDeEFHhKmoPQrtTuUwxXyYz",
    longFlags:
      "remote-name remote-name-all remote-header-name location silent show-error fail insecure compressed include head verbose create-dirs get",
    longValues:
      "output output-dir dump-header cookie-jar cookie header data data-ascii data-binary data-raw data-urlencode json form form-string user user-agent referer request upload-file config proxy url max-time connect-timeout write-out cacert cert key retry retry-delay resolve range interface trace trace-ascii stderr etag-save etag-compare hsts alt-svc libcurl",
    out: "o output D dump-header c cookie-jar trace trace-ascii stderr etag-save hsts alt-svc libcurl",
    into: "output-dir",
    words: "url",
    urlIf: "O remote-name remote-name-all",
  },
  wget: {
    flags: "bcdEFhHkKLmNnpqrSvVx",
    values: "aABDeIiloOPQRtTUwX",
    longFlags:
      "quiet no-verbose continue timestamping recursive no-check-certificate content-disposition spider",
    longValues:
      "output-document output-file append-output directory-prefix input-file header post-data post-file user-agent user password tries timeout wait save-cookies load-cookies",
    out: "o O a output-document output-file append-output save-cookies",
    into: "P directory-prefix",
    words: "url",
  },
  tar: {
    flags: "cxturAdhjJkmnopsvwzZaBGilMOpPRSUW",
    values: "fCTXbgKLNHVI",
    longFlags: "create extract get list update append concatenate gzip verbose to-stdout diff",
    longValues: "file directory files-from exclude-from exclude transform",
    // Reading an archive writes its members: those named, and the folder for them.
    never: "t list O to-stdout d diff",
    into: "C directory",
    words: "all",
    onlyIf: "x extract get",
  },
  unzip: { flags: "acfjlLnopqtuvVXz", values: "dPx", into: "d", words: "behind-first", never: "l p t v z" },
  zip: { words: "first", flags: "rqjmuvyXTdfFege0123456789", values: "xinbtP" },
  "7z": { words: "behind-first", flags: "yr", values: "ompt", into: "o", never: "so" },
  script: { words: "all", flags: "aefq", values: "cBIOTtEmo" },
  crudini: { words: "first", longFlags: "set del merge existing", onlyIf: "set del merge" },
  sqlite3: { words: "first" },
};
