// What bytes are, whatever their name says.
import { describe, expect, it } from "@jest/globals";
import sharp from "sharp";
import { sniff } from "./sniff.js";

describe("sniff", () => {
  it.each([
    ["", "application/octet-stream"],
    ["hello, wörld", "text/plain"],
    ["a,b\n1,2", "text/plain"],
    ["alert(1)", "text/plain"],
    ["1 < 2 and 3 > 2", "text/plain"],
    ["<!DOCTYPE html><p>", "text/html"],
    ["\n\n<!-- a --><HTML lang=en>", "text/html"],
    ["words, then <script src=x>", "text/html"],
    ['<html xmlns="http://www.w3.org/1999/xhtml">', "text/html"],
    ["<svg onload=alert(1)>", "image/svg+xml"],
    ['\ufeff<?xml version="1.0"?>\n<!-- x -->\n<!DOCTYPE svg PUBLIC "x" "y">\n<svg>', "image/svg+xml"],
    ['<?xml version="1.0"?><feed/>', "application/xml"],
    ["%PDF-1.7\n", "application/pdf"],
    ["BMW;2020\nAudi;2021", "text/plain"],
    ["MZ is a sign", "text/plain"],
    ["ID3 tags explained, at some length", "text/plain"],
    ["The wide road", "text/plain"],
    ["{\\rtf1\\ansi hello}", "application/rtf"],
    ["BEGIN:VCARD\r\nVERSION:4.0", "text/vcard"],
    ["PK\x03\x04 and so on, more than thirty bytes", "application/zip"],
  ])("%j is %s", async (text, type) => {
    expect(await sniff(Buffer.from(text))).toBe(type);
  });

  it.each(["png", "jpeg", "webp", "gif", "avif"] as const)("knows a picture: %s", async (format) => {
    const create = { width: 9, height: 9, channels: 3 as const, background: "red" };
    expect(await sniff(await sharp({ create }).toFormat(format).toBuffer())).toBe(`image/${format}`);
  });

  it.each(["II*\0", "MM\0*"])("knows a picture whose directory lies behind the head: %j", async (mark) => {
    const head = Buffer.alloc(4_100, 0x80);
    head.write(`${mark}\x10\x10\x10\x10`, "latin1");
    expect(await sniff(head)).toBe("image/tiff");
  });

  it.each(["\xff\xd8\xff\xe0\x00\x10JFIF<script>", "<!--ftypavif     --><svg:svg xmlns:svg='x'>"])(
    "takes a picture with markup inside for neither: %j",
    async (text) => {
      expect(await sniff(Buffer.from(text, "latin1"))).toBe("application/octet-stream");
    },
  );

  it.each([
    ["plain text", "hällo", "text/plain; charset=utf-16le", "text/plain; charset=utf-16be"],
    ["a page", "<!doctype html>", "text/html", "text/html"],
    ["XML", '<?xml version="1.0"?><a/>', "application/xml", "application/xml"],
  ])("tells in which order the bytes of UTF-16 are: %s", async (_what, text, little, big) => {
    const bytes = Buffer.from(`\ufeff${text}`, "utf16le");
    expect([await sniff(bytes), await sniff(Buffer.from(bytes).swap16())]).toEqual([little, big]);
  });

  it("reads UTF-16 by its mark, and a character that the end has cut off", async () => {
    const utf16 = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from("<script>", "utf16le")]);
    expect(await sniff(utf16)).toBe("text/html");
    expect(await sniff(Buffer.from("€").subarray(0, 2))).toBe("text/plain");
    expect(await sniff(Buffer.from([0x80, 0x80]))).toBe("application/octet-stream");
  });
});
