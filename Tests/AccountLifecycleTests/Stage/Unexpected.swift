/// A fixture that did not come about.
struct Unexpected: Error, CustomStringConvertible {
    let description: String

    init(_ what: some Any) { description = "unexpected: \(what)" }
}
