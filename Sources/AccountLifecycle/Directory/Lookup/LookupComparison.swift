/// How a lookup compares its term with stored values.
package enum LookupComparison: Sendable, Hashable {
    /// The whole value.
    case exact
    /// The start of the value, by index; never by a table scan.
    case prefix
    /// Anywhere in email addresses and usernames, by scanning the whole table.
    case contains
}
