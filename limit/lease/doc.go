// Package lease holds what one worker has taken of callers' limits in advance, so
// that most of a busy caller's requests are not asked about.
//
//	Decided   a request that Redis has admitted; says for how many to take a lease
//	Taken     the reply: so many are charged, and this worker's to spend
//	Spend     a request takes one, and says in time when to ask for more
//	Unspent   what is left over, to be given back with the next question
//
// What is spent was charged before, within the same windows, so no caller is
// admitted more often than the algorithm of his limits allows; docs/algorithms.md
// has the proof. A lease ends with the first of its windows. That moment is known
// by the time that Redis charged it at and by how long ago the question was sent,
// on a clock of this worker that only goes forward.
//
// All limits of a caller are leased together, in requests of one cost each.
package lease
