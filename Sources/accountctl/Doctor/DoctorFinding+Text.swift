import Terminal

extension DoctorFinding {
    /// The finding as lines for people; what it means and what to do only if `isExplained`.
    func text(isExplained: Bool, style: StreamStyle) -> String {
        let emphasis: Emphasis =
            switch severity {
            case .ok: .good
            case .notice: .none
            case .warning: .caution
            case .error: .bad
            }
        var lines = [
            emphasis.apply(to: severity.rawValue, style: style) + "  " + code + ": "
                + SafeText.line(what)
        ]
        guard isExplained else { return lines.joined(separator: "\n") }
        if let why { lines.append("    why:  " + SafeText.line(why)) }
        if let todo { lines.append("    do:   " + SafeText.line(todo)) }
        return lines.joined(separator: "\n")
    }
}
