import { describe, expect, it } from "vitest";
import { indexesOf } from "./item-ranges";

describe("the items that somebody names", () => {
  it("are numbers and ranges, in order and each once", () => {
    expect(indexesOf("3")).toEqual([3]);
    expect(indexesOf(" 7-9, 3 ,8")).toEqual([3, 7, 8, 9]);
  });

  it("are none in any other text", () => {
    for (const text of ["", "x", "3,", "9-7", "-1", "1.5", "10000", "0-99999"]) expect(indexesOf(text)).toBeNull();
  });
});
