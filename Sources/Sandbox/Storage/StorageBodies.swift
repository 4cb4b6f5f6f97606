/// `POST /object/list/{bucket}`.
struct ListBody: Decodable, Sendable {
    /// The order of the entries.
    struct Order: Decodable, Sendable {
        let column: String?
        let order: String?
    }

    let prefix: String
    let limit: Int?
    let offset: Int?
    let search: String?
    let sortBy: Order?
}

/// `POST /object/list-v2/{bucket}`.
struct ListPageBody: Decodable, Sendable {
    let prefix: String?
    let limit: Int?
    let cursor: String?
    let withDelimiter: Bool?

    enum CodingKeys: String, CodingKey {
        case prefix, limit, cursor
        case withDelimiter = "with_delimiter"
    }
}

/// `DELETE /object/{bucket}`: the field is called `prefixes`, but contains exact keys.
struct DeleteBody: Decodable, Sendable {
    /// A key, or one version of it.
    struct Entry: Decodable, Sendable {
        let path: String
        let versionId: String?

        private enum CodingKeys: String, CodingKey {
            case path, versionId
        }

        init(from decoder: any Decoder) throws {
            if let path = try? decoder.singleValueContainer().decode(String.self) {
                self.path = path
                versionId = nil
                return
            }
            let container = try decoder.container(keyedBy: CodingKeys.self)
            path = try container.decode(String.self, forKey: .path)
            versionId = try container.decode(String.self, forKey: .versionId)
        }
    }

    let prefixes: [Entry]
}
