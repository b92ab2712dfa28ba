//! Faults: what is thrown at a real cluster, and that no ID comes twice. One module per kind.
//!
//! Each test writes down what its clients received, and checks at the end that nothing came twice and that everything
//! increased. `make mutants` runs them against a build without the register, where they have to fail.

mod crash;
mod damage;
mod interruption;
mod promotion;
mod recovery;
mod steps;
mod upgrade;
