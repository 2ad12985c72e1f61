// Loaded into services with `NODE_OPTIONS=--import=…`: the clock of one of them is wrong by PORTICO_CLOCK_SHIFT_MS.
const shifted = process.argv[1]?.includes(process.env.PORTICO_CLOCK_SHIFT_OF ?? "") === true;
const shiftMs = shifted ? Number(process.env.PORTICO_CLOCK_SHIFT_MS) : 0;

const RightDate = Date;

globalThis.Date = new Proxy(RightDate, {
  construct: (target, args, newTarget) =>
    Reflect.construct(target, args.length === 0 ? [target.now() + shiftMs] : args, newTarget),
  apply: (target) => new target(target.now() + shiftMs).toString(),
  get: (target, name) => (name === "now" ? () => target.now() + shiftMs : Reflect.get(target, name, target)),
});
