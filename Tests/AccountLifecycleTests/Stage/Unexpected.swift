/// A fixture that could not be set up.
struct Unexpected: Error, CustomStringConvertible {
    let description: String

    init(_ what: some Any) { description = "unexpected: \(what)" }
}
