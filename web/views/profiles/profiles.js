// #/profiles: the list of profiles; #/profiles/NAME: one; #/profiles/A/diff/B: two compared.

import { addStyle } from "../../dom.js";
import { ProfileDiff } from "./diff.js";
import { ProfileList } from "./list.js";
import { Profile } from "./profile.js";
import { StoredView } from "../stored_view.js";

await addStyle(new URL("../../profiles.css", import.meta.url));

export default class extends StoredView {
  partOf(path) {
    if (path.length >= 4 && path[2] === "diff") {
      const [, before, , after] = path;
      return { title: `${before} against ${after}`, make: () => new ProfileDiff(before, after) };
    }
    if (path.length >= 2) return { title: `Profile ${path[1]}`, make: () => new Profile(path[1]) };
    return { title: "Profiles", make: () => new ProfileList() };
  }
}
