/// A parsed `multipart/form-data` body (RFC 7578), as far as uploads need it.
struct MultipartBody {
    /// One field of the form.
    struct Part {
        let name: String
        /// Whether the part has a file name or no name at all, as the file of an upload does.
        let isFile: Bool
        let mediaType: String?
        let bytes: [UInt8]
    }

    let parts: [Part]

    /// Parses a body; nil if the type has no boundary or the body is malformed.
    init?(_ body: [UInt8], contentType: String) {
        let boundary = contentType.split(separator: ";").dropFirst()
            .map { $0.drop { $0 == " " } }
            .first { $0.lowercased().hasPrefix("boundary=") }?
            .dropFirst("boundary=".count).filter { $0 != "\"" }
        guard let boundary, !boundary.isEmpty else { return nil }
        let opening = Array("--\(boundary)".utf8)
        let separator = Array("\r\n--\(boundary)".utf8)
        guard body.starts(with: opening) else { return nil }

        var parts: [Part] = []
        var rest = body[opening.count...]
        while rest.starts(with: [13, 10]) {
            rest = rest.dropFirst(2)
            guard
                let blank = rest.firstRange(of: [13, 10, 13, 10]),
                let end = rest[blank.upperBound...].firstRange(of: separator)
            else { return nil }
            parts.append(Part(head: rest[..<blank.lowerBound], bytes: Array(rest[blank.upperBound..<end.lowerBound])))
            rest = rest[end.upperBound...]
        }
        guard rest.starts(with: Array("--".utf8)) else { return nil }
        self.parts = parts
    }
}

extension MultipartBody.Part {
    fileprivate init(head: ArraySlice<UInt8>, bytes: [UInt8]) {
        var disposition = ""
        var mediaType: String?
        for line in String(decoding: head, as: UTF8.self).split(separator: "\r\n") {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2 else { continue }
            let value = String(parts[1].drop { $0 == " " })
            switch parts[0].lowercased() {
            case "content-disposition": disposition = value
            case "content-type": mediaType = value
            default: break
            }
        }
        let fields = disposition.split(separator: ";").map { $0.drop { $0 == " " } }
        name = fields.first { $0.hasPrefix("name=") }?.dropFirst("name=".count).filter { $0 != "\"" } ?? ""
        isFile = name.isEmpty || fields.contains { $0.hasPrefix("filename=") }
        self.mediaType = mediaType
        self.bytes = bytes
    }
}
