/// The SQL that the binary carries: every file of `sql/migrations`, in the order of their numbers.
package enum EmbeddedSQL {}
