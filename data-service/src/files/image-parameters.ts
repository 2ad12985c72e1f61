// `?width&height&fit&format&quality` of an asset -> how to transform it, or what is wrong with it. Pure.
import { refuseParameter } from "@portico/shared/own-parameters";

const FITS = ["cover", "contain", "inside", "outside", "fill"] as const;
const FORMATS = ["jpeg", "png", "webp", "avif"] as const;
const MAX_EDGE = 4_000;

export interface Transform {
  readonly width: number | undefined;
  readonly height: number | undefined;
  readonly fit: (typeof FITS)[number];
  /** Undefined: the file's own. */
  readonly format: (typeof FORMATS)[number] | undefined;
  readonly quality: number | undefined;
}

export interface AssetParameters {
  readonly download: boolean;
  /** Undefined: the bytes as they are. */
  readonly transform: Transform | undefined;
}

const OWN = ["width", "height", "fit", "format", "quality"] as const;

/**
 * @param search the text behind `?`
 * @throws AppError 400 naming the parameter; parameters that are not ours are ignored
 */
export function readAssetParameters(search: string): AssetParameters {
  const given = new URLSearchParams(search);
  const one = (name: string): string | undefined => {
    const values = given.getAll(name);
    if (values.length > 1) throw refuseParameter(name, "must be given once");
    return values[0];
  };
  const download = oneOf("download", one("download") ?? "false", ["true", "false"]) === "true";
  if (!OWN.some((name) => given.has(name))) return { download, transform: undefined };
  const format = one("format");
  return {
    download,
    transform: {
      width: whole("width", one("width"), MAX_EDGE),
      height: whole("height", one("height"), MAX_EDGE),
      fit: oneOf("fit", one("fit") ?? "cover", FITS),
      format: format === undefined ? undefined : oneOf("format", format, FORMATS),
      quality: whole("quality", one("quality"), 100),
    },
  };
}

/** The name of a transformation; `meantBy` leaves out what means nothing. */
export function variantName({ width, height, fit, format, quality }: Transform): string {
  return [width ?? "", height ?? "", fit, format ?? "", quality ?? ""].join("-");
}

function whole(name: string, text: string | undefined, most: number): number | undefined {
  if (text === undefined) return undefined;
  const number = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (number < 1 || number > most) throw refuseParameter(name, `must be a whole number from 1 to ${most}`);
  return number;
}

function oneOf<Value extends string>(name: string, text: string, values: readonly Value[]): Value {
  const found = values.find((value) => value === text);
  if (found === undefined) throw refuseParameter(name, `must be one of ${values.join(", ")}`);
  return found;
}
