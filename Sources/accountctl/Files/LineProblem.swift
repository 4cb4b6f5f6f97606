/// A problem with one line of a list, in words for its author.
struct LineProblem: Error {
    let words: String

    init(_ words: String) { self.words = words }
}
