// How large the picture becomes that a wish makes of another one, without enlarging it. Pure.
import type { Transform } from "./image-parameters.js";

export interface ImageSize {
  readonly width: number;
  readonly height: number;
}

/** @param source as it is shown, turned as EXIF says */
export function sizeMade({ width, height, fit }: Transform, source: ImageSize): ImageSize {
  if (fit === "fill") return atMost({ width, height }, source);
  const across = width === undefined ? undefined : width / source.width;
  const down = height === undefined ? undefined : height / source.height;
  const covers = fit === "cover" || fit === "outside";
  const wished = (covers ? Math.max : Math.min)(across ?? down ?? 1, down ?? across ?? 1);
  const scale = Math.min(1, wished);
  const scaled = { width: Math.round(source.width * scale), height: Math.round(source.height * scale) };
  if (fit === "cover") return atMost({ width, height }, scaled);
  // On a ground that is as large as was asked for.
  return fit === "contain" ? { width: width ?? scaled.width, height: height ?? scaled.height } : scaled;
}

function atMost({ width, height }: Pick<Transform, "width" | "height">, size: ImageSize): ImageSize {
  return {
    width: Math.min(width ?? size.width, size.width),
    height: Math.min(height ?? size.height, size.height),
  };
}
