/// `POST /object/list/{bucket}`.
struct ListBody: Decodable, Sendable {
    /// How entries are ordered.
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

/// `DELETE /object/{bucket}`: the name says prefixes, but they are exact keys.
struct DeleteBody: Decodable, Sendable {
    let prefixes: [String]
}
