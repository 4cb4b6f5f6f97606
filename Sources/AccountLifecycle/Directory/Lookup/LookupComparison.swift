/// How a term that somebody looks an account up by is compared.
package enum LookupComparison: Sendable, Hashable {
    /// The whole value.
    case exact
    /// The start of the value, by index; never by reading a table.
    case prefix
    /// Anywhere in e-mail addresses and usernames, by reading the whole table.
    case contains
}
