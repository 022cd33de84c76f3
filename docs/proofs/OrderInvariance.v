(** Order invariance: one token a step, sampled from the true conditionals, in any adaptive order, gives exactly p.

    A canvas holds [Some v] where a token is revealed and [None] where it is masked. [mass c] is the probability of all
    texts that agree with the canvas [c]. A policy sees the canvas and gives positions with weights that sum to 1: it may
    use any reward, any scale and chance of its own, but it only says which position comes next. *)

From Coq Require Import Reals List Lia Lra Bool.
Import ListNotations.
Open Scope R_scope.

Section Sums.

Context {A : Type}.

Fixpoint total (f : A -> R) (l : list A) : R :=
  match l with
  | [] => 0
  | x :: l' => f x + total f l'
  end.

Lemma total_app f l m : total f (l ++ m) = total f l + total f m.
Proof. induction l as [|x l IH]; simpl; [lra | rewrite IH; lra]. Qed.

Lemma total_ext f g l : (forall x, In x l -> f x = g x) -> total f l = total g l.
Proof.
  intros H; induction l as [|x l IH]; simpl; [reflexivity|].
  rewrite H by (now left). rewrite IH; [reflexivity|]. intros y Hy; apply H; now right.
Qed.

Lemma total_scale k f l : total (fun x => k * f x) l = k * total f l.
Proof. induction l as [|x l IH]; simpl; [lra | rewrite IH; lra]. Qed.

Lemma total_plus f g l : total (fun x => f x + g x) l = total f l + total g l.
Proof. induction l as [|x l IH]; simpl; [lra | rewrite IH; lra]. Qed.

Lemma total_zero l : total (fun _ : A => 0) l = 0.
Proof. induction l as [|x l IH]; simpl; [lra | rewrite IH; lra]. Qed.

Lemma total_nonneg f l : (forall x, 0 <= f x) -> 0 <= total f l.
Proof. intros H; induction l as [|x l IH]; simpl; [lra | specialize (H x); lra]. Qed.

Lemma total_zero_terms f l x : (forall x, 0 <= f x) -> total f l = 0 -> In x l -> f x = 0.
Proof.
  intros H; induction l as [|y l IH]; simpl; [tauto|].
  intros H0 [<- | Hx]; pose proof (H y); pose proof (total_nonneg f l H); [lra | apply IH; [lra | assumption]].
Qed.

End Sums.

Lemma total_map {A B : Type} (f : B -> R) (h : A -> B) l : total f (map h l) = total (fun x => f (h x)) l.
Proof. induction l as [|x l IH]; simpl; [reflexivity | now rewrite IH]. Qed.

Lemma total_flat_map {A B : Type} (f : B -> R) (h : A -> list B) l :
  total f (flat_map h l) = total (fun x => total f (h x)) l.
Proof. induction l as [|x l IH]; simpl; [reflexivity | now rewrite total_app, IH]. Qed.

Lemma total_swap {A B : Type} (f : A -> B -> R) l m :
  total (fun x => total (f x) m) l = total (fun y => total (fun x => f x y) l) m.
Proof.
  induction l as [|x l IH]; simpl; [now rewrite total_zero | now rewrite IH, <- total_plus].
Qed.

Section Model.

Variable V : Type.
Variable same : forall v w : V, {v = w} + {v <> w}.
Variable vocabulary : list V.
Hypothesis distinct : NoDup vocabulary.

Definition canvas := list (option V).

(** Every text that agrees with a canvas. *)
Fixpoint completions (c : canvas) : list (list V) :=
  match c with
  | [] => [[]]
  | Some v :: c' => map (cons v) (completions c')
  | None :: c' => flat_map (fun v => map (cons v) (completions c')) vocabulary
  end.

(** The canvas with the token [v] revealed at position [i]. *)
Fixpoint reveal (c : canvas) (i : nat) (v : V) : canvas :=
  match c, i with
  | [], _ => []
  | _ :: c', O => Some v :: c'
  | o :: c', S j => o :: reveal c' j v
  end.

Definition masked (c : canvas) (i : nat) : Prop := nth_error c i = Some None.

Fixpoint masks (c : canvas) : nat :=
  match c with
  | [] => O
  | Some _ :: c' => masks c'
  | None :: c' => S (masks c')
  end.

(** The text of a canvas without masks. *)
Fixpoint text (c : canvas) : list V :=
  match c with
  | [] => []
  | Some v :: c' => v :: text c'
  | None :: c' => text c'
  end.

Definition blank (n : nat) : canvas := repeat None n.

(** A distribution over the texts of n tokens. *)
Variable p : list V -> R.
Hypothesis nonnegative : forall x, 0 <= p x.

Definition mass (c : canvas) : R := total p (completions c).

(** The true conditional of a token at a masked position, given what is revealed. *)
Definition conditional (c : canvas) (i : nat) (v : V) : R := mass (reveal c i v) / mass c.

(** A policy: positions with weights, as a function of what is revealed. *)
Definition policy := canvas -> list (R * nat).

Definition admissible (pi : policy) : Prop :=
  forall c, masks c <> O ->
    total fst (pi c) = 1 /\ forall w i, In (w, i) (pi c) -> masked c i.

(** The probability that sampling from canvas [c], one token in each of [steps] steps, ends in the text [x]. *)
Fixpoint sampled (pi : policy) (steps : nat) (c : canvas) (x : list V) : R :=
  match steps with
  | O => if list_eq_dec same (text c) x then 1 else 0
  | S k =>
      total (fun choice => fst choice *
        total (fun v => conditional c (snd choice) v * sampled pi k (reveal c (snd choice) v) x) vocabulary) (pi c)
  end.

(** 1 if the text [x] agrees with the canvas, else 0. *)
Fixpoint agrees (c : canvas) (x : list V) : R :=
  match c, x with
  | [], [] => 1
  | Some v :: c', w :: x' => if same v w then agrees c' x' else 0
  | None :: c', w :: x' => if in_dec same w vocabulary then agrees c' x' else 0
  | _, _ => 0
  end.

Lemma masks_reveal c i v : masked c i -> masks c = S (masks (reveal c i v)).
Proof.
  unfold masked; revert i; induction c as [|o c IH]; intros [|i] H; simpl in *; try discriminate.
  - now injection H as ->.
  - destruct o; rewrite (IH i H); reflexivity.
Qed.

(** The masses of the canvases that one more revealed position leads to add up: the conditionals sum to 1. *)
Lemma completions_reveal (f : list V -> R) c i : masked c i ->
  total (fun v => total f (completions (reveal c i v))) vocabulary = total f (completions c).
Proof.
  unfold masked; revert i f; induction c as [|o c IH]; intros [|i] f H; simpl in *; try discriminate.
  - injection H as ->. now rewrite total_flat_map.
  - destruct o as [w|].
    + rewrite total_map, <- (IH i _ H). apply total_ext; intros v _. now rewrite total_map.
    + rewrite total_flat_map.
      rewrite (total_ext _ (fun v => total (fun w => total f (map (cons w) (completions (reveal c i v)))) vocabulary))
        by (intros; now rewrite total_flat_map).
      rewrite total_swap. apply total_ext; intros w _.
      rewrite total_map, <- (IH i _ H). apply total_ext; intros v _. now rewrite total_map.
Qed.

Lemma conditionals_sum_to_one c i : masked c i -> mass c <> 0 -> total (conditional c i) vocabulary = 1.
Proof.
  intros H Hm. unfold conditional.
  rewrite (total_ext _ (fun v => / mass c * mass (reveal c i v))) by (intros; unfold Rdiv; ring).
  rewrite total_scale. unfold mass at 2. rewrite completions_reveal by assumption.
  unfold mass in *; field; assumption.
Qed.

Lemma total_indicator (w : V) (k : R) l : NoDup l ->
  total (fun v => if same v w then k else 0) l = if in_dec same w l then k else 0.
Proof.
  induction l as [|v l IH]; intros H; [reflexivity|]. inversion H as [|? ? Hv Hl]; subst.
  simpl total. rewrite (IH Hl).
  destruct (same v w) as [->|Hvw].
  - destruct (in_dec same w l); [contradiction|].
    destruct (in_dec same w (w :: l)) as [|N]; [lra | exfalso; apply N; now left].
  - destruct (in_dec same w l) as [Hi|Hi]; destruct (in_dec same w (v :: l)) as [Hj|Hj]; try lra.
    + exfalso; apply Hj; now right.
    + destruct Hj; contradiction.
Qed.

Lemma agrees_reveal c i x : masked c i -> total (fun v => agrees (reveal c i v) x) vocabulary = agrees c x.
Proof.
  unfold masked; revert i x; induction c as [|o c IH]; intros [|i] x H; simpl in *; try discriminate.
  - injection H as ->. destruct x as [|w x]; [apply total_zero | apply total_indicator; assumption].
  - destruct o as [u|]; (destruct x as [|w x]; [apply total_zero|]).
    + destruct (same u w); [apply IH; assumption | apply total_zero].
    + destruct (in_dec same w vocabulary); [apply IH; assumption | apply total_zero].
Qed.

Lemma agrees_text c x : masks c = O -> agrees c x = if list_eq_dec same (text c) x then 1 else 0.
Proof.
  revert x; induction c as [|[v|] c IH]; intros x H; simpl in H; try discriminate.
  - destruct x as [|w x]; simpl; [|reflexivity]. now destruct (list_eq_dec same [] []).
  - destruct x as [|w x]; simpl agrees; simpl text; [destruct (list_eq_dec same (v :: text c) []); congruence|].
    rewrite (IH x H).
    destruct (same v w) as [->|N]; destruct (list_eq_dec same (text c) x) as [->|M];
      match goal with |- _ = if ?b then _ else _ => destruct b as [E|E] end; congruence.
Qed.

Lemma completions_text c : masks c = O -> completions c = [text c].
Proof.
  induction c as [|[v|] c IH]; simpl; intros H; try discriminate; [reflexivity | now rewrite (IH H)].
Qed.

Lemma agrees_completions c x : agrees c x <> 0 -> In x (completions c).
Proof.
  revert x; induction c as [|[v|] c IH]; intros [|w x] H; simpl in *; try (exfalso; apply H; reflexivity).
  - now left.
  - destruct (same v w) as [->|]; [|exfalso; now apply H]. apply in_map; now apply IH.
  - destruct (in_dec same w vocabulary) as [Hw|]; [|exfalso; now apply H].
    apply in_flat_map; exists w; split; [assumption|]. apply in_map; now apply IH.
Qed.

Lemma agrees_massless c x : mass c = 0 -> p x * agrees c x = 0.
Proof.
  intros H. destruct (Req_dec (agrees c x) 0) as [->|N]; [lra|].
  rewrite (total_zero_terms p (completions c) x nonnegative H (agrees_completions c x N)); lra.
Qed.

(** From any canvas, every text that agrees with it comes out in proportion to its probability. *)
Theorem sampling_from_a_canvas (pi : policy) : admissible pi ->
  forall c x, mass c * sampled pi (masks c) c x = p x * agrees c x.
Proof.
  intros Hpi c x. remember (masks c) as k eqn:Hk. revert c Hk.
  induction k as [|k IH]; intros c Hk.
  - simpl. rewrite agrees_text by auto. unfold mass; rewrite completions_text by auto. simpl.
    destruct (list_eq_dec same (text c) x) as [->|]; lra.
  - destruct (Req_dec (mass c) 0) as [H0|H0]; [rewrite agrees_massless by assumption; rewrite H0; lra|].
    destruct (Hpi c ltac:(lia)) as [Hone Hmasked]. simpl.
    rewrite <- total_scale.
    rewrite (total_ext _ (fun choice => p x * agrees c x * fst choice)).
    + rewrite total_scale, Hone. lra.
    + intros [w i] Hin; simpl. specialize (Hmasked w i Hin).
      transitivity (w * total (fun v => p x * agrees (reveal c i v) x) vocabulary).
      * rewrite (total_ext (fun v => p x * agrees (reveal c i v) x)
          (fun v => mass c * (conditional c i v * sampled pi k (reveal c i v) x))).
        { rewrite total_scale. ring. }
        intros v _. rewrite <- (IH (reveal c i v)) by (pose proof (masks_reveal c i v Hmasked); lia).
        unfold conditional. field. assumption.
      * rewrite total_scale, agrees_reveal by assumption. ring.
Qed.

Lemma masks_blank n : masks (blank n) = n.
Proof. induction n as [|n IH]; [reflexivity | exact (f_equal S IH)]. Qed.

Lemma agrees_blank n x : length x = n -> Forall (fun v => In v vocabulary) x -> agrees (blank n) x = 1.
Proof.
  intros <- H; induction H as [|v x Hv Hx IH]; simpl; [reflexivity|].
  destruct (in_dec same v vocabulary); [exact IH | contradiction].
Qed.

(** Order invariance. *)
Theorem order_invariance (n : nat) (pi : policy) : mass (blank n) = 1 -> admissible pi ->
  forall x, length x = n -> Forall (fun v => In v vocabulary) x -> sampled pi n (blank n) x = p x.
Proof.
  intros H1 Hpi x Hn Hx. pose proof (sampling_from_a_canvas pi Hpi (blank n) x) as H.
  rewrite H1, agrees_blank, masks_blank in H by assumption. lra.
Qed.

End Model.
