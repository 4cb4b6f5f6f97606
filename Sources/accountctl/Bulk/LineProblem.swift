/// What is wrong with a line of a list, in words for whoever wrote it.
struct LineProblem: Error {
    let words: String

    init(_ words: String) { self.words = words }
}
