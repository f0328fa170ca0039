// #/studies: the list of studies; #/studies/NAME: one of them.

import { addStyle } from "../../dom.js";
import { StoredView } from "../stored_view.js";
import { StudyList } from "./list.js";
import { Study } from "./study.js";

await addStyle(new URL("../../studies.css", import.meta.url));

export default class extends StoredView {
  partOf([, name]) {
    if (name) return { title: `Study ${name}`, make: () => new Study(name) };
    return { title: "Studies", make: () => new StudyList() };
  }
}
