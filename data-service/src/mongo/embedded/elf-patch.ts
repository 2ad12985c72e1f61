// ELF library -> the same library asking for no symbol newer than glibc 2.36. Pure: bytes in, bytes out.
//
// An undefined symbol has a row in .dynsym (its name) and one in .gnu.version (the index of the version it
// wants); .gnu.version_r says which library and version each index means. Words as in the ELF gABI and LSB.

/** The symbol version that systems older than glibc 2.38 lack. */
const TOO_NEW = "GLIBC_2.38";

/** Each known symbol at that version -> the older function with the same meaning, a suffix of its name. */
const OLDER_SPELLINGS: ReadonlyMap<string, string> = new Map([
  ["fmod", "fmod"],
  // The C23 functions also read binary literals (0b101), which the engine has no use for.
  ["__isoc23_strtol", "strtol"],
  ["__isoc23_strtoul", "strtoul"],
  ["__isoc23_strtoll", "strtoll"],
  ["__isoc23_strtoull", "strtoull"],
  ["__isoc23_sscanf", "sscanf"],
  ["__isoc23_fscanf", "fscanf"],
]);

/** ELF machine -> the oldest glibc version of that architecture, which every plain function has. */
const BASE_VERSIONS: ReadonlyMap<number, string> = new Map([
  [62, "GLIBC_2.2.5"], // x86-64
  [183, "GLIBC_2.17"], // AArch64
]);

const SECTION = { dynsym: 11, versionNeeds: 0x6ffffffe, versionIndexes: 0x6fffffff } as const;
const SYMBOL_BYTES = 24;
/** The loader only warns when a weak version is missing. */
const WEAK_FLAG = 2;
/** The top bit of a version index hides the symbol; it is no part of the number. */
const INDEX_MASK = 0x7fff;

/** One symbol that was bent to an older version. */
export interface SymbolChange {
  symbol: string;
  /** The name it is looked up by now. */
  readsAs: string;
  library: string;
  /** The version it asks for now. */
  version: string;
}

interface Section {
  offset: number;
  size: number;
  /** For tables with names: the index of the string section. For version needs: their number. */
  link: number;
  info: number;
}

interface VersionNeed {
  library: string;
  version: string;
  index: number;
  weak: boolean;
  flagsAt: number;
}

interface UndefinedSymbol {
  name: string;
  nameAt: number;
  versionIndex: number;
  versionAt: number;
}

/**
 * Rewrites a copy so that it loads on glibc 2.36 and 2.37; a library that wants nothing newer comes back equal.
 * @throws Error when the file is no such library, or wants a function that has no older spelling
 */
export function patchElf(bytes: Buffer): { patched: Buffer; changes: readonly SymbolChange[] } {
  const base = baseVersion(bytes);
  const needs = versionNeeds(bytes);
  const patched = Buffer.from(bytes);
  const changes: SymbolChange[] = [];
  for (const need of needs.filter(({ version }) => version === TOO_NEW)) {
    patched.writeUInt16LE(patched.readUInt16LE(need.flagsAt) | WEAK_FLAG, need.flagsAt);
    for (const symbol of undefinedSymbols(bytes).filter(({ versionIndex }) => versionIndex === need.index)) {
      changes.push(bendSymbol(patched, symbol, olderNeed(needs, need.library, base)));
    }
  }
  return { patched, changes };
}

/** The glibc versions (`2.36`) a library can't load without. */
export function requiredGlibcVersions(bytes: Buffer): readonly string[] {
  const names = versionNeeds(bytes)
    .filter(({ weak }) => !weak)
    .map(({ version }) => /^GLIBC_(\d+(?:\.\d+)+)$/.exec(version)?.[1]);
  return [...new Set(names)].filter((name) => name !== undefined);
}

function bendSymbol(patched: Buffer, symbol: UndefinedSymbol, older: VersionNeed): SymbolChange {
  const readsAs = OLDER_SPELLINGS.get(symbol.name);
  if (readsAs === undefined) throw new Error(`${symbol.name} exists only since ${TOO_NEW}`);
  // The shorter name is a suffix, so it is there already, some bytes further on.
  const skipped = symbol.name.length - readsAs.length;
  patched.writeUInt32LE(patched.readUInt32LE(symbol.nameAt) + skipped, symbol.nameAt);
  patched.writeUInt16LE(older.index, symbol.versionAt);
  return { symbol: symbol.name, readsAs, library: older.library, version: older.version };
}

function olderNeed(needs: readonly VersionNeed[], library: string, version: string): VersionNeed {
  const found = needs.find((need) => need.library === library && need.version === version);
  if (found === undefined) throw new Error(`the library asks ${library} for nothing at ${version}`);
  return found;
}

function baseVersion(bytes: Buffer): string {
  // 64-bit (2), little-endian (1).
  const isElf64 =
    bytes.length > 64 && bytes.readUInt32BE(0) === 0x7f454c46 && bytes.readUInt16LE(4) === 0x0102;
  if (!isElf64) throw new Error("not a 64-bit little-endian ELF file");
  const machine = bytes.readUInt16LE(18);
  const version = BASE_VERSIONS.get(machine);
  if (version === undefined) throw new Error(`unknown ELF machine ${machine}`);
  return version;
}

function versionNeeds(bytes: Buffer): readonly VersionNeed[] {
  const section = sectionOfType(bytes, SECTION.versionNeeds);
  const names = sectionAt(bytes, section.link);
  const needs: VersionNeed[] = [];
  let at = section.offset;
  for (let left = section.info; left > 0; left--) {
    const library = text(bytes, names, bytes.readUInt32LE(at + 4));
    needs.push(
      ...versionsOf(
        bytes,
        { names, library, at: at + bytes.readUInt32LE(at + 8) },
        bytes.readUInt16LE(at + 2),
      ),
    );
    at += bytes.readUInt32LE(at + 12);
  }
  return needs;
}

function versionsOf(
  bytes: Buffer,
  from: { names: Section; library: string; at: number },
  count: number,
): readonly VersionNeed[] {
  const needs: VersionNeed[] = [];
  let at = from.at;
  for (let left = count; left > 0; left--) {
    needs.push({
      library: from.library,
      version: text(bytes, from.names, bytes.readUInt32LE(at + 8)),
      index: bytes.readUInt16LE(at + 6) & INDEX_MASK,
      weak: (bytes.readUInt16LE(at + 4) & WEAK_FLAG) !== 0,
      flagsAt: at + 4,
    });
    at += bytes.readUInt32LE(at + 12);
  }
  return needs;
}

function undefinedSymbols(bytes: Buffer): readonly UndefinedSymbol[] {
  const symbols = sectionOfType(bytes, SECTION.dynsym);
  const names = sectionAt(bytes, symbols.link);
  const indexes = sectionOfType(bytes, SECTION.versionIndexes);
  return Array.from({ length: symbols.size / SYMBOL_BYTES }, (_, row) => ({
    sectionIndex: bytes.readUInt16LE(symbols.offset + row * SYMBOL_BYTES + 6),
    nameAt: symbols.offset + row * SYMBOL_BYTES,
    versionAt: indexes.offset + row * 2,
  }))
    .filter(({ sectionIndex }) => sectionIndex === 0)
    .map(({ nameAt, versionAt }) => ({
      name: text(bytes, names, bytes.readUInt32LE(nameAt)),
      nameAt,
      versionIndex: bytes.readUInt16LE(versionAt) & INDEX_MASK,
      versionAt,
    }));
}

function sectionOfType(bytes: Buffer, type: number): Section {
  const count = bytes.readUInt16LE(60);
  for (let index = 0; index < count; index++) {
    if (bytes.readUInt32LE(sectionHeader(bytes, index) + 4) === type) return sectionAt(bytes, index);
  }
  throw new Error(`the ELF file has no section of type 0x${type.toString(16)}`);
}

function sectionAt(bytes: Buffer, index: number): Section {
  const header = sectionHeader(bytes, index);
  return {
    offset: Number(bytes.readBigUInt64LE(header + 24)),
    size: Number(bytes.readBigUInt64LE(header + 32)),
    link: bytes.readUInt32LE(header + 40),
    info: bytes.readUInt32LE(header + 44),
  };
}

function sectionHeader(bytes: Buffer, index: number): number {
  return Number(bytes.readBigUInt64LE(40)) + index * bytes.readUInt16LE(58);
}

function text(bytes: Buffer, names: Section, at: number): string {
  const start = names.offset + at;
  return bytes.toString("latin1", start, bytes.indexOf(0, start));
}
