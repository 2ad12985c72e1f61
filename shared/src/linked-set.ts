// A set of objects that come and go thousands of times a second, in the order in which they came.
import { Node, Yallist } from "yallist";
import { beside } from "./beside.js";

/**
 * Like a Set. V8 gives a Set a new table whenever a few dozen members have left, and each old table refers to the next one.
 * Once one of them has been promoted to the old generation, all later ones stay until the next full collection, each with its
 * members at that time (decision 023). Here nothing refers to a member that has left.
 */
export class LinkedSet<Member extends object> {
  readonly #list = new Yallist<Member>();
  readonly #nodes = beside<Member, Node<Member>>();

  get size(): number {
    return this.#list.length;
  }

  get first(): Member | undefined {
    return this.#list.head?.value;
  }

  add(member: Member): void {
    if (this.#nodes.get(member) !== undefined) return;
    const node = new Node(member);
    this.#list.pushNode(node);
    this.#nodes.set(member, node);
  }

  /** @returns whether it was there */
  delete(member: Member): boolean {
    const node = this.#nodes.get(member);
    if (node === undefined) return false;
    this.#nodes.delete(member);
    this.#list.removeNode(node);
    return true;
  }

  /** Those who are members now, in their order. */
  [Symbol.iterator](): Iterator<Member> {
    return [...this.#list].values();
  }
}
