/// The help of a command, split into examples, paragraphs, and sections with a heading.
///
/// A discussion in the source has paragraphs, and sections whose heading is a line in capitals above indented lines.
/// Help screens and manual pages each put these parts in an order of their own.
struct HelpText: Equatable {
    /// A heading with its lines, without their common indentation.
    struct Section: Equatable {
        let title: String
        var lines: [String] = []

        /// Adds a line of the source; it continues the previous sentence unless either is a row of a table, a step or
        /// an example.
        fileprivate mutating func add(_ line: String) {
            let isItem = { (line: String) in line.contains("  ") || line.starts(with: #/\d+\. /#) }
            if title != "EXAMPLES", !isItem(line), let last = lines.last, !last.contains("  ") {
                lines[lines.count - 1] = last + " " + line
            } else {
                lines.append(line)
            }
        }
    }

    /// What the command does, in one line.
    let abstract: String
    /// The lines of the section of examples; a command line may continue after a backslash.
    private(set) var examples: [String] = []
    /// The paragraphs, each as one line.
    private(set) var paragraphs: [String] = []
    /// The sections other than the examples, in their order.
    private(set) var sections: [Section] = []

    init(abstract: String, discussion: String) {
        self.abstract = abstract
        var current: Section?
        var paragraph: [String] = []
        for line in discussion.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) {
            if line.hasPrefix("  "), current != nil {
                current?.add(String(line.dropFirst(2)))
                continue
            }
            if !paragraph.isEmpty, line.isEmpty || Self.isHeading(line) {
                paragraphs.append(paragraph.joined(separator: " "))
                paragraph = []
            }
            if line.isEmpty { continue }
            add(current)
            current = Self.isHeading(line) ? Section(title: line) : nil
            if current == nil { paragraph.append(line) }
        }
        if !paragraph.isEmpty { paragraphs.append(paragraph.joined(separator: " ")) }
        add(current)
    }

    private mutating func add(_ section: Section?) {
        guard let section else { return }
        if section.title == "EXAMPLES" {
            examples += section.lines
        } else {
            sections.append(section)
        }
    }

    private static func isHeading(_ line: String) -> Bool {
        line.count > 3 && line.allSatisfy { $0.isUppercase || $0 == " " } && !line.hasPrefix(" ")
    }
}
