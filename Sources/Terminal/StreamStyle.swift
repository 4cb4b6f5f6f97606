/// The capabilities of a stream: whether it is a terminal, its width, and whether to use colour.
package struct StreamStyle: Sendable, Equatable {
    /// Whether the stream is a terminal.
    package var isTerminal: Bool
    /// The width of the terminal in columns; nil means that nothing is cut.
    package var width: Int?
    /// Whether colours may be used.
    package var colour: Bool
    /// Whether a line can be redrawn in place.
    var redraws: Bool

    /// Creates a style; a terminal redraws lines unless stated otherwise.
    package init(isTerminal: Bool, width: Int?, colour: Bool, redraws: Bool? = nil) {
        self.isTerminal = isTerminal
        self.width = width
        self.colour = colour
        self.redraws = redraws ?? isTerminal
    }

    /// The style for a stream that is read by a program or stored in a file.
    package static let plain = StreamStyle(isTerminal: false, width: nil, colour: false)

    /// Decides as other tools do.
    ///
    /// `--no-color`, `NO_COLOR` (if not empty) and `TERM=dumb` disable colour; `FORCE_COLOR` and `CLICOLOR_FORCE` (if
    /// neither empty nor 0) enable it off a terminal; `COLUMNS` overrides the width. A dumb terminal supports no
    /// escapes at all.
    ///
    /// - Parameters:
    ///   - isTerminal: whether the stream is a terminal.
    ///   - columns: the width that the terminal reports, if any.
    ///   - environment: the variables of the process.
    ///   - noColour: whether `--no-color` was given.
    /// - Returns: the style of the stream.
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
