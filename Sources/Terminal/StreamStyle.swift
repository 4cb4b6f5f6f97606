/// What a stream can show: whether people read it, how wide it is, whether colour is wanted.
package struct StreamStyle: Sendable, Equatable {
    /// Whether the stream is a terminal.
    package var isTerminal: Bool
    /// The columns of the terminal; nil means that nothing is cut.
    package var width: Int?
    /// Whether colours may be used.
    package var colour: Bool
    /// Whether a line on it can be drawn anew in its place.
    var redraws: Bool

    /// What people read is drawn anew unless something else is said.
    package init(isTerminal: Bool, width: Int?, colour: Bool, redraws: Bool? = nil) {
        self.isTerminal = isTerminal
        self.width = width
        self.colour = colour
        self.redraws = redraws ?? isTerminal
    }

    /// A stream that is read by a program or kept in a file.
    package static let plain = StreamStyle(isTerminal: false, width: nil, colour: false)

    /// Decides by the habits of other tools: `--no-color`, `NO_COLOR` (when not empty) and `TERM=dumb` forbid colour,
    /// `FORCE_COLOR` and `CLICOLOR_FORCE` (neither empty nor 0) ask for it off a terminal; `COLUMNS` overrides the
    /// width.
    ///
    /// A dumb terminal knows no escapes at all.
    ///
    /// - Parameters:
    ///   - isTerminal: whether the stream is a terminal.
    ///   - columns: what the terminal says of its width, if it does.
    ///   - environment: the variables of the process.
    ///   - noColour: whether `--no-color` was given.
    /// - Returns: how the stream is written to.
    package static func decide(
        isTerminal: Bool,
        columns: Int?,
        environment: [String: String],
        noColour: Bool
    ) -> StreamStyle {
        func wanted(_ name: String) -> Bool {
            switch environment[name] {
            case nil, "", "0": false
            default: true
            }
        }
        let isDumb = isTerminal && environment["TERM"] == "dumb"
        let forbidden = noColour || !(environment["NO_COLOR"] ?? "").isEmpty || isDumb
        let forced = wanted("FORCE_COLOR") || wanted("CLICOLOR_FORCE")
        let stated = environment["COLUMNS"].flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil }
        return StreamStyle(
            isTerminal: isTerminal,
            width: isTerminal ? max(20, stated ?? columns ?? 80) : nil,
            colour: !forbidden && (isTerminal || forced),
            redraws: isTerminal && !isDumb
        )
    }
}
