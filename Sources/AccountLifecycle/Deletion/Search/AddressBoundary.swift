/// Distinguishes a whole e-mail address in a text from a part of somebody else's longer one.
enum AddressBoundary {
    /// Whether the address at a place in a text is a whole one.
    static func holds(of address: Range<Int>, in text: UnsafeRawBufferPointer) -> Bool {
        !isWithinLocalPart(address, in: text) && !isHostContinued(address, in: text)
    }

    /// The characters that join words in a local part, except those that hardly any address has, but text has around
    /// addresses.
    private static let joiners: Set<Unicode.Scalar> = [".", "+", "-", "_"]

    /// Whether the address is the end of one with a longer local part.
    private static func isWithinLocalPart(_ address: Range<Int>, in text: UnsafeRawBufferPointer) -> Bool {
        var start = address.lowerBound
        // "_anna@x.de_" is emphasis.
        if address.upperBound < text.count, text[address.upperBound] == UInt8(ascii: "_") {
            while start > 0, text[start - 1] == UInt8(ascii: "_") { start -= 1 }
        }
        // Whatever writes the at sign as "%40" writes a plus sign as "%2B": what it writes as "+" is a blank.
        if start > 0, text[start - 1] == UInt8(ascii: "+"), text[address].contains(UInt8(ascii: "%")),
            !text[address].contains(UInt8(ascii: "@"))
        {
            return false
        }
        return Neighbour.of(start, in: text) { $0.isWord || joiners.contains($0) }
    }

    /// Whether the address is the beginning of one with a longer host name.
    ///
    /// "anna@x.de." ends a sentence, and "anna@x.de.Thanks" begins another without a blank; "anna@x.de.example" is
    /// another address, and so is "Anna@X.De.Example", whose labels all have a capital.
    ///
    /// No host name ends with a label that begins with a digit, or that is a file extension: "anna@x.de-2026-01-01.log"
    /// and "anna@x.de-invoice.pdf" are files about the address.
    private static func isHostContinued(_ address: Range<Int>, in text: UnsafeRawBufferPointer) -> Bool {
        var index = address.upperBound
        var isHost = false
        if Neighbour.makesLonger(at: index, in: text) { return true }
        while index < text.count, text[index] == UInt8(ascii: ".") || text[index] == UInt8(ascii: "-") {
            let label = text[(index + 1)...].prefix(while: \.isASCIIAlphanumeric)
            // A letter of any script, since host names may contain them.
            let next = Neighbour.character(at: label.endIndex, in: text)
            if next?.properties.isAlphabetic ?? false { return true }
            guard let first = label.first else { break }
            let isDot = text[index] == UInt8(ascii: ".")
            if isDot, isCapitalised(label) {
                let last = text[address].split(separator: UInt8(ascii: ".")).last
                if !(last.map(isCapitalised) ?? false) { break }
            }
            let isFile =
                isDot && fileEndings.contains(String(decoding: label.lazy.map(\.asciiLowercased), as: UTF8.self))
            isHost = !first.isASCIIDigit && !isFile
            index = label.endIndex
        }
        return isHost
    }

    /// Whether a label is a word with a capital, as at the beginning of a sentence.
    private static func isCapitalised(_ label: Slice<UnsafeRawBufferPointer>) -> Bool {
        guard let first = label.first, let second = label.dropFirst().first else { return false }
        return first != first.asciiLowercased && second == second.asciiLowercased
    }

    /// File extensions that are not top-level domains.
    private static let fileEndings = Set(
        """
        avi bak bmp bz2 csv doc docx eml gif gz heic htm html ics jpeg jpg json jsonl log m4a mbox mp3 mp4 msg ndjson odt pdf png \
        ppt pptx sql svg tar tgz tif tiff tmp tsv txt vcf wav webp xls xlsx xml xz yaml yml
        """
        .split(separator: " ").map(String.init)
    )
}
